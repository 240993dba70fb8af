"""Train the digits network and write it the way ncnn does.

    pip install scikit-learn
    python examples/digits/train.py [folder]

The data are scikit-learn's handwritten digits, 1797 images of 8 x 8 pixels that ship inside the
package. A fifth of them is held out. Training is plain numpy, takes a few seconds and gives
the same network every time. It writes, into the folder or beside this file:

    digits.param, digits.bin    the network, one layer a step as an exporter would leave it
    held_out.npz                images float32 (n, 1, 8, 8) with values 0..1, and labels (n,)
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray
from sklearn.datasets import load_digits

Array: TypeAlias = NDArray[Any]
Weights: TypeAlias = dict[str, Array]

HERE = Path(__file__).parent
CHANNELS = (16, 32)
CLASSES = 10
EPOCHS = 40
BATCH = 32
DROPPED = 0.2

PARAM = """\
7767517
11 11
Input         data   0 1 data 0=8 1=8 2=1
Convolution   conv1  1 1 data conv1 0={channels[0]} 1=3 4=1 5=1 6={sizes[conv1]}
ReLU          relu1  1 1 conv1 relu1
Pooling       pool1  1 1 relu1 pool1 0=0 1=2 2=2
Convolution   conv2  1 1 pool1 conv2 0={channels[1]} 1=3 4=1 5=1 6={sizes[conv2]}
ReLU          relu2  1 1 conv2 relu2
Dropout       drop   1 1 relu2 drop
Pooling       pool2  1 1 drop pool2 0=1 4=1
Flatten       flat   1 1 pool2 flat
InnerProduct  score  1 1 flat score 0={classes} 1=1 2={sizes[score]}
Softmax       prob   1 1 score prob
"""


def split(rng: np.random.Generator) -> tuple[Array, Array, Array, Array]:
    """Images (n, 8, 8, 1) and labels (n,) to learn from, then those held out."""
    digits = load_digits()
    images = (digits.images[..., None] / 16).astype(np.float32)
    labels = digits.target.astype(np.int64)
    held_out, learned = np.split(rng.permutation(len(images)), [len(images) // 5])
    return images[learned], labels[learned], images[held_out], labels[held_out]


# The network. Images are (n, h, w, c) here, since a convolution is then one matrix product;
# filters are (k, c, 3, 3), as ncnn keeps them.


def windows(x: Array) -> Array:
    """The 3 x 3 neighbourhood of every pixel, zeros outside: (n, h, w, c) -> (n h w, 9 c)."""
    padded = np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))
    return sliding_window_view(padded, (3, 3), axis=(1, 2)).reshape(-1, 9 * x.shape[-1])


def convolve(x: Array, filters: Array) -> Array:
    """(n, h, w, c) -> (n, h, w, k)."""
    return (windows(x) @ filters.reshape(len(filters), -1).T).reshape(*x.shape[:-1], -1)


def pool(x: Array) -> Array:
    """The largest of each 2 x 2 square: (n, h, w, c) -> (n, h/2, w/2, c)."""
    n, h, w, c = x.shape
    largest: Array = x.reshape(n, h // 2, 2, w // 2, 2, c).max(axis=(2, 4))
    return largest


def forward(p: Weights, x: Array, keep: Array | float = 1.0) -> dict[str, Array]:
    """All intermediate values. `keep` scales the features that go into the mean."""
    v = {"x": x}
    v["relu1"] = np.maximum(convolve(x, p["conv1"]) + p["conv1_bias"], 0)
    v["pool1"] = pool(v["relu1"])
    v["relu2"] = np.maximum(convolve(v["pool1"], p["conv2"]) + p["conv2_bias"], 0)
    v["mean"] = (v["relu2"] * keep).mean(axis=(1, 2))
    v["score"] = v["mean"] @ p["score"].T + p["score_bias"]
    e = np.exp(v["score"] - v["score"].max(axis=1, keepdims=True))
    v["prob"] = e / e.sum(axis=1, keepdims=True)
    return v


def backward(p: Weights, v: dict[str, Array], labels: Array, keep: Array) -> Weights:
    """The gradient of the mean cross-entropy: the chain rule from the last layer to the first."""
    d = (v["prob"] - np.eye(CLASSES, dtype=np.float32)[labels]) / len(labels)
    g = {"score": d.T @ v["mean"], "score_bias": d.sum(axis=0)}

    d = keep * (d @ p["score"])[:, None, None] / np.float32(v["relu2"][0, ..., 0].size)
    d = np.where(v["relu2"] > 0, d, 0)
    g["conv2"] = (d.reshape(-1, d.shape[-1]).T @ windows(v["pool1"])).reshape(p["conv2"].shape)
    g["conv2_bias"] = d.sum(axis=(0, 1, 2))

    d = convolve(d, p["conv2"].transpose(1, 0, 2, 3)[:, :, ::-1, ::-1])
    largest = v["relu1"] == v["pool1"].repeat(2, axis=1).repeat(2, axis=2)
    d = np.where(largest & (v["relu1"] > 0), d.repeat(2, axis=1).repeat(2, axis=2), 0)
    g["conv1"] = (d.reshape(-1, d.shape[-1]).T @ windows(v["x"])).reshape(p["conv1"].shape)
    g["conv1_bias"] = d.sum(axis=(0, 1, 2))
    return g


def initial(rng: np.random.Generator) -> Weights:
    """He initialization: a variance of 2 / fan-in; biases zero."""
    p: Weights = {}
    first, second = CHANNELS
    shapes = {"conv1": (first, 1, 3, 3), "conv2": (second, first, 3, 3), "score": (CLASSES, second)}
    for name, shape in shapes.items():
        deviation = np.sqrt(2 / np.prod(shape[1:]))
        p[name] = (deviation * rng.standard_normal(shape)).astype(np.float32)
        p[f"{name}_bias"] = np.zeros(shape[0], np.float32)
    return p


def train(rng: np.random.Generator, images: Array, labels: Array) -> Weights:
    """Adam with a learning rate that falls along a cosine."""
    p = initial(rng)
    mean = {name: np.zeros_like(w) for name, w in p.items()}
    square = {name: np.zeros_like(w) for name, w in p.items()}
    steps = EPOCHS * (len(images) // BATCH)
    for step in range(steps):
        if step % (len(images) // BATCH) == 0:
            order = rng.permutation(len(images))
        batch, order = order[:BATCH], order[BATCH:]
        kept = rng.random((BATCH, 4, 4, CHANNELS[1]), np.float32) >= DROPPED
        keep = kept / np.float32(1 - DROPPED)
        gradient = backward(p, forward(p, images[batch], keep), labels[batch], keep)
        rate = 0.005 * (1 + np.cos(np.pi * step / steps))
        for name, g in gradient.items():
            mean[name] += 0.1 * (g - mean[name])
            square[name] += 0.001 * (g * g - square[name])
            unbiased = mean[name] / (1 - 0.9 ** (step + 1))
            spread = np.sqrt(square[name] / (1 - 0.999 ** (step + 1))) + 1e-8
            p[name] = (p[name] - rate * unbiased / spread).astype(np.float32)
    return p


def write(p: Weights, folder: Path) -> None:
    """The network as ncnn's text and weights. A matrix is preceded by a tag (0: float32)."""
    names = ("conv1", "conv2", "score")
    sizes = {name: p[name].size for name in names}
    text = PARAM.format(channels=CHANNELS, sizes=sizes, classes=CLASSES)
    (folder / "digits.param").write_text(text)
    with open(folder / "digits.bin", "wb") as file:
        for name in names:
            file.write(bytes(4))
            file.write(p[name].astype("<f4").tobytes())
            file.write(p[f"{name}_bias"].astype("<f4").tobytes())


def main() -> None:
    rng = np.random.default_rng(2026)
    images, labels, held_out, truth = split(rng)
    p = train(rng, images, labels)
    accuracy = (forward(p, held_out)["prob"].argmax(axis=1) == truth).mean()
    print(f"accuracy on {len(truth)} held-out images: {accuracy:.1%}")
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else HERE
    write(p, folder)
    channels_first = held_out.transpose(0, 3, 1, 2)
    np.savez_compressed(folder / "held_out.npz", images=channels_first, labels=truth)


if __name__ == "__main__":
    main()
