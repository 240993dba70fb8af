"""Small random networks that are hard to lay out compute what the references of the layers compute.

They are made of what placement and layout stumble over, compiled in every way: channels that fill
no block, views of views, values that are padded, joined and returned at once, and layers that need
other layouts.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod
from pathlib import Path

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

import ncc
from ncc.compiler.diagnostics import ModelError
from ncc.compiler.ncnn.infer_shapes import infer_shapes
from ncc.compiler.read.read_network import read
from ncc.compiler.verification.interpret import interpret
from ncc.dialects.ncnn.layer import shape_of
from ncc.dialects.ncnn.network import Network
from ncc.dialects.shapes import Shape
from tests.crossed import some
from tests.runnable import NAMES

WAYS = [(0, "host", 1), (1, "avx2", 1), (2, "host", 2), (2, "avx2", 1), (2, "baseline", 2)]
"""Levels, targets and threads."""

REACHED = {"host", *NAMES}

CHANNELS = (1, 2, 3, 4, 8, 12, 15, 16, 17, 24, 30, 32, 33, 40, 48)
LARGEST = 20000
TOLERANCE = 2e-4


@dataclass
class Growing:
    """A network that grows at random; `shapes` holds every blob."""

    draw: random.Random
    folder: Path
    lines: list[tuple[str, list[str], list[str], str]] = field(default_factory=list)
    shapes: dict[str, Shape] = field(default_factory=dict)

    def add(
        self, type: str, inputs: Sequence[str], params: str = "", outputs: int = 1
    ) -> list[str]:
        """One more layer; nothing where it does not fit its inputs."""
        results = [f"b{len(self.shapes)}_{k}" for k in range(outputs)]
        self.lines.append((type, list(inputs), results, params))
        try:
            network = Network.of(self.module())
        except ModelError:
            self.lines.pop()
            return []
        blobs = {
            name: shape_of(value)
            for layer in network.layers
            for name, value in zip(layer.blob_names, layer.results, strict=True)
        }
        found = {name: blobs[name] for name in results}
        self.shapes.update({name: shape for name, shape in found.items() if shape is not None})
        return results

    def one_of(self, *layers: tuple[str, list[str], str]) -> None:
        """One of these layers."""
        type, inputs, params = self.draw.choice(layers)
        self.add(type, inputs, params)

    def module(self) -> ModuleOp:
        path = self.folder / "net.param"
        path.write_text(self.text())
        module = read(path, None, random_weights=1, outputs=None).module
        infer_shapes(module, {})
        return module

    def text(self) -> str:
        """The .param file, with a Split for every blob that has several readers."""
        readers = [blob for _, inputs, _, _ in self.lines for blob in inputs]
        taken: dict[str, int] = {}
        rows: list[str] = []
        blobs = 0
        for number, (type, inputs, outputs, params) in enumerate(self.lines):
            names = []
            for blob in inputs:
                copy = taken[blob] = taken.get(blob, -1) + 1
                names.append(f"{blob}_s{copy}" if readers.count(blob) > 1 else blob)
            counts = f"{len(inputs)} {len(outputs)}"
            rows.append(f"{type} L{number} {counts} {' '.join([*names, *outputs])} {params}")
            blobs += len(outputs)
            for blob in outputs:
                count = readers.count(blob)
                if count > 1:
                    copies = " ".join(f"{blob}_s{k}" for k in range(count))
                    rows.append(f"Split split_{blob} 1 {count} {blob} {copies}")
                    blobs += count
        return "\n".join(["7767517", f"{len(rows)} {blobs}", *rows, ""])

    def blob(self, rank: int | None = None, most: int = LARGEST) -> str | None:
        """One of the latest blobs that fit, now and then an older one."""
        fitting = [
            name
            for name, shape in self.shapes.items()
            if prod(shape) <= most and rank in (None, len(shape))
        ]
        if not fitting:
            return None
        return self.draw.choice(fitting[-6:] if self.draw.random() < 0.8 else fitting)

    def like(self, shape: Shape, free: int | None = None) -> str:
        """A blob of this shape; along the axis `free`, of any extent."""
        return self.draw.choice(
            [
                name
                for name, other in self.shapes.items()
                if len(other) == len(shape)
                and all(
                    a == b or k == free for k, (a, b) in enumerate(zip(shape, other, strict=True))
                )
            ]
        )


def extents(shape: Shape) -> str:
    """A shape as the params of Input, MemoryData and Reshape."""
    return " ".join(f"{k}={n}" for k, n in enumerate(reversed(shape)))


# --- one function a kind of layer -----------------------------------------------------------


def convolution(net: Growing, x: str, channels: int) -> None:
    draw = net.draw
    kernel, outputs = draw.choice([1, 1, 3, 3, 2, 5]), draw.choice(CHANNELS)
    params = f"0={outputs} 1={kernel} 2={draw.choice([1, 1, 1, 2])} 3={draw.choice([1, 1, 2])}"
    params += f" 4={draw.choice([0, kernel // 2, 1, 2])} 5={draw.choice([0, 1])}"
    activation = draw.choice(["", "9=1", "9=2 -23310=1,0.1", "9=3 -23310=2,0.0,6.0", "9=4"])
    weights = outputs * channels * kernel * kernel
    net.add("Convolution", [x], f"{params} 6={weights} {activation}")


def grouped(net: Growing, x: str, channels: int) -> None:
    draw = net.draw
    groups = draw.choice([channels, *(g for g in range(1, channels + 1) if channels % g == 0)])
    outputs = channels if groups == channels else min(groups * draw.choice([1, 2, 3, 16]), 96)
    if outputs % groups:
        return
    kernel = draw.choice([3, 3, 5, 2])
    params = f"0={outputs} 1={kernel} 3={draw.choice([1, 1, 2])} 4={draw.choice([0, kernel // 2])}"
    weights = outputs * channels // groups * kernel * kernel
    bias, activation = draw.choice([0, 1]), draw.choice([0, 1])
    net.add("ConvolutionDepthWise", [x], f"{params} 5={bias} 6={weights} 7={groups} 9={activation}")


def deconvolution(net: Growing, x: str, channels: int) -> None:
    draw = net.draw
    kernel, outputs = draw.choice([2, 3, 4]), draw.choice(CHANNELS)
    params = f"0={outputs} 1={kernel} 3={draw.choice([1, 2])} 4={draw.choice([0, 1])} 5=1"
    net.add("Deconvolution", [x], f"{params} 6={outputs * channels * kernel * kernel}")


def spatial(net: Growing, x: str, channels: int) -> None:
    """Pooling, resampling and moves of channels."""
    draw = net.draw
    groups = draw.choice([g for g in range(1, channels + 1) if channels % g == 0])
    mean = draw.choice([0, 1])
    window = f"1={draw.choice([2, 3])} 2={draw.choice([1, 2])} 3={draw.choice([0, 1])}"
    crop = draw.choice([0, 1])
    height, width = net.shapes[x][1:]
    kept = f"3={max(width - 1, 1)} 4={max(height - 1 - crop, 1)} 5={channels}"
    net.one_of(
        ("Pooling", [x], f"0={mean} {window} 5={draw.choice([0, 1])}"),
        ("Pooling", [x], f"0={mean} 4=1"),
        ("Interp", [x], f"0={draw.choice([1, 2])} 1=2.0 2=2.0"),
        ("ShuffleChannel", [x], f"0={groups} 1={draw.choice([0, 1])}"),
        ("PixelShuffle", [x], "0=2" if channels % 4 == 0 else "0=1"),
        ("LRN", [x], "0=0 1=5"),
        ("Crop", [x], f"0=0 1={crop} 2=0 {kept}"),
        ("Permute", [x], f"0={draw.randrange(6)}"),
    )  # fmt: skip


def squeeze_and_excite(net: Growing, x: str, channels: int) -> None:
    inner = net.draw.choice([4, 8, 15])
    (mean,) = net.add("Pooling", [x], "0=1 4=1")
    (low,) = net.add("InnerProduct", [mean], f"0={inner} 1=1 2={inner * channels} 9=1")
    (gate,) = net.add("InnerProduct", [low], f"0={channels} 1=1 2={inner * channels} 9=4")
    (gate,) = net.add("Reshape", [gate], f"0=1 1=1 2={channels}")
    net.add("BinaryOp", [x, gate], "0=2")


IMAGE_LAYERS = (
    convolution, convolution, convolution, grouped, grouped, deconvolution, spatial, spatial,
    spatial, squeeze_and_excite,
)  # fmt: skip


def pointwise(net: Growing, x: str, shape: Shape) -> None:
    channels = shape[0]
    net.one_of(
        (net.draw.choice(["Sigmoid", "HardSwish", "Swish", "TanH", "Dropout"]), [x], ""),
        (net.draw.choice(["BatchNorm", "PReLU"]), [x], f"0={channels}"),
        ("ReLU", [x], net.draw.choice(["0=0.0", "0=0.2"])),
        ("Clip", [x], "0=-0.5 1=0.5"),
        ("UnaryOp", [x], "0=1"),
        ("BinaryOp", [x], "0=0 1=1 2=0.5"),
        ("Scale", [x], f"0={channels} 1=1"),
    )


def arithmetic(net: Growing, x: str, shape: Shape) -> None:
    draw, y, z = net.draw, net.like(shape), net.like(shape)
    net.one_of(
        ("Eltwise", [x, y], f"0={draw.choice([0, 1, 2])}"),
        ("BinaryOp", [x, y], f"0={draw.choice([0, 1, 2, 4, 5])}"),
        ("Eltwise", [x, y, z], "0=1 -23301=3,1.0,0.5,-1.0"),
    )  # fmt: skip


def concat(net: Growing, x: str, shape: Shape) -> None:
    axis = net.draw.randrange(len(shape))
    blobs = [x, *(net.like(shape, free=axis) for _ in range(net.draw.choice([1, 1, 2, 3])))]
    net.draw.shuffle(blobs)
    if sum(prod(net.shapes[blob]) for blob in blobs) <= LARGEST:
        net.add("Concat", blobs, f"0={axis}")


def slice(net: Growing, x: str, shape: Shape) -> None:
    axis = net.draw.randrange(len(shape))
    n = shape[axis]
    cuts = [k for k in (1, n // 2, 8, 16, n - 1) if 0 < k < n]
    if cuts:
        parts = [net.draw.choice(cuts), *([1] if n > 40 else [])]
        sizes = ",".join(map(str, [*parts, -233]))
        count = len(parts) + 1
        net.add("Slice", [x], f"-23300={count},{sizes} 1={axis}", outputs=count)


def reshape(net: Growing, x: str, shape: Shape) -> None:
    draw, size = net.draw, prod(shape)
    rows = draw.choice([d for d in range(1, size + 1) if size % d == 0])
    columns = draw.choice([d for d in range(1, rows + 1) if rows % d == 0])
    net.one_of(
        ("Flatten", [x], ""),
        ("Reshape", [x], extents((rows, size // rows))),
        ("Reshape", [x], extents((columns, rows // columns, size // rows))),
        ("ExpandDims", [x], f"-23303=1,{draw.randrange(len(shape))}"),
        ("Squeeze", [x], f"-23303=1,{draw.randrange(len(shape))}"),
    )  # fmt: skip


def rows(net: Growing, x: str, shape: Shape) -> None:
    """Layers that fold or normalise along an axis."""
    draw, axis, size = net.draw, net.draw.randrange(len(shape)), prod(shape)
    outputs = draw.choice([*CHANNELS, 100])
    if draw.random() < 0.4 and size <= 4000:
        flat = net.add("Flatten", [x], "")
        net.add("InnerProduct", flat, f"0={outputs} 1=1 2={outputs * size} 9={draw.choice([0, 1])}")
        return
    fold = f"0={draw.choice([0, 3, 4, 5])} 1=0 -23303=1,{axis} 4={draw.choice([0, 1])} 5=1"
    net.one_of(
        ("Softmax", [x], f"0={axis} 1=1"),
        ("Reduction", [x], fold),
        ("LayerNorm", [x], f"0={shape[-1]} 1=0.001 2=1"),
    )  # fmt: skip


def border(net: Growing, x: str, shape: Shape) -> None:
    draw = net.draw
    top, bottom, left, right = (draw.choice([0, 1, 2]) for _ in range(4))
    if len(shape) == 1:
        top = bottom = 0
    repeats = ",".join(str(draw.choice([1, 2])) for _ in shape)
    sides = f"0={top} 1={bottom} 2={left} 3={right}"
    net.one_of(
        ("Padding", [x], f"{sides} 4={draw.choice([0, 0, 1])} 5={draw.choice([0.0, 0.5])}"),
        ("Tile", [x], f"-23302={len(shape)},{repeats}"),
        ("MemoryData", [], extents(shape)),
    )  # fmt: skip


ANY_LAYERS = (pointwise, pointwise, arithmetic, concat, concat, slice, slice, reshape, rows, border)


def random_network(seed: int, folder: Path) -> Growing:
    """The same network for the same seed."""
    draw = random.Random(seed)
    net = Growing(draw, folder)
    for _ in range(draw.choice([1, 1, 2])):
        image = (draw.choice(CHANNELS), draw.randint(1, 12), draw.randint(1, 12))
        matrix = (draw.choice(CHANNELS), draw.randint(1, 20))
        net.add("Input", [], extents(draw.choice([image, image, matrix, (draw.randint(1, 70),)])))
    for _ in range(draw.randint(2, 12)):
        if draw.random() < 0.5 and (x := net.blob(rank=3)) is not None:
            draw.choice(IMAGE_LAYERS)(net, x, net.shapes[x][0])
        elif (x := net.blob()) is not None:
            draw.choice(ANY_LAYERS)(net, x, net.shapes[x])
    return net


# --- compiled against the references --------------------------------------------------------


def check(text: str, folder: Path, level: int, target: str, threads: int) -> None:
    """Compile a network with made-up weights and compare all outputs with the interpreter's."""
    path = folder / "net.param"
    path.write_text(text)
    module = read(path, None, random_weights=1, outputs=None).module
    infer_shapes(module, {})
    model = ncc.compile(path, random_weights=1, opt_level=level, target=target, num_threads=threads)
    generator = np.random.default_rng(1)
    feeds = {
        binding.name: generator.standard_normal(binding.shape).astype(np.float32)
        for binding in model.inputs
    }
    found, expected = model.run(feeds), interpret(module, feeds)
    assert found.keys() == expected.keys()
    for name, want in expected.items():
        assert found[name].shape == want.shape
        scale = max(1e-3, float(np.abs(want).max(initial=0, where=np.isfinite(want))))
        got = found[name]
        np.testing.assert_allclose(got, want, rtol=TOLERANCE, atol=TOLERANCE * scale, err_msg=text)


def check_seed(seed: int, folder: Path, ways: Sequence[tuple[int, str, int]]) -> None:
    text = random_network(seed, folder).text()
    for level, target, threads in ways:
        if target in REACHED:
            check(text, folder, level, target, threads)


@pytest.mark.parametrize("first", some(range(0, 20, 5), usual=1))
def test_ways_in_turn(first: int, tmp_path: Path) -> None:
    """Five networks, each compiled in one of the ways."""
    for seed in range(first, first + 5):
        check_seed(seed, tmp_path, [WAYS[seed % len(WAYS)]])


BATCHES = range(1000, 1600, 20)


@pytest.mark.parametrize(
    "first",
    [
        pytest.param(first, marks=pytest.mark.slow if first < 1120 else pytest.mark.sweep)
        for first in BATCHES
    ],
)
def test_all_ways(first: int, tmp_path: Path) -> None:
    """Twenty networks, each compiled in all ways."""
    for seed in range(first, first + 20):
        check_seed(seed, tmp_path, WAYS)
