"""Samples of a batch, each by itself."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ncc
from ncc.compiler.diagnostics import ModelError, Unsupported
from ncc.compiler.verification import oracle
from ncc.dialects.weights.sources import Array

X = np.random.default_rng(5).standard_normal((2, 3, 4)).astype(np.float32)
WEIGHTS = np.random.default_rng(6).standard_normal((2, 4)).astype(np.float32)


def write(folder: Path, layers: Sequence[str]) -> tuple[Path, Path]:
    """A network that begins with x (2, 3, 4) and a matrix u (3, 4)."""
    lines = ["Input x 0 1 x 0=4 1=3 2=2", "Input u 0 1 u 0=4 1=3", *layers]
    blobs = sum(int(line.split()[3]) for line in lines)
    param, binary = folder / "net.param", folder / "net.bin"
    param.write_text("\n".join(["7767517", f"{len(lines)} {blobs}", *lines, ""]))
    binary.write_bytes(bytes(4) + WEIGHTS.tobytes())
    return param, binary


def softmax(x: Array, axis: int) -> Array:
    powers = np.exp(x - x.max(axis, keepdims=True))
    return np.asarray(powers / powers.sum(axis, keepdims=True))


FIRST = "Reshape a 1 1 x y 0=4 1=3 2=2 13=0"
BACK = "Reshape b 1 1 s z 0=4 1=3 2=2 12=0"

NETWORKS: dict[str, tuple[list[str], Any]] = {
    "the outermost axis": ([FIRST, "Softmax s 1 1 y s 0=0 1=1", BACK], softmax(X, 1)),
    "an axis in the middle": (
        ["Reshape a 1 1 x y 0=4 1=3 2=2 13=1", "Softmax s 1 1 y s 0=0 1=1",
         "Reshape b 1 1 s z 0=4 1=3 2=2 12=1"],
        softmax(X, 0),
    ),
    "the innermost axis, counted from the end": (
        ["Reshape a 1 1 x y 0=4 1=3 2=2 13=-1", "BinaryOp s 1 1 y s 0=2 1=1 2=10.0",
         "Reshape b 1 1 s z 0=24 12=-1"],
        10 * X.ravel(),
    ),
    "another axis on the way back": (
        [FIRST, "UnaryOp s 1 1 y s 0=1", "Reshape b 1 1 s z 0=4 1=2 2=3 12=1"],
        -X.transpose(1, 0, 2),
    ),
    "weights that the samples share": (
        [FIRST, "InnerProduct s 1 1 y s 0=2 2=8", "Reshape b 1 1 s z 0=2 1=3 2=2 12=0"],
        X @ WEIGHTS.T,
    ),
    "a blob for all samples": ([FIRST, "BinaryOp s 2 1 y u s 0=0", BACK], X + X[0]),
    "two results": (
        [FIRST, "Slice t 1 2 y t0 t1 -23300=2,1,-233 1=0", "Concat s 2 1 t1 t0 s 0=0", BACK],
        X[:, [1, 2, 0]],
    ),
    "a reshape of each sample": (
        [FIRST, "Reshape s 1 1 y s 0=12", "Reshape b 1 1 s z 0=12 1=2 12=0"],
        X.reshape(2, 12),
    ),
    "from one batch to another": (
        [FIRST, "UnaryOp s 1 1 y s 0=1", "Reshape r 1 1 s r 0=4 1=3 2=2 12=0 13=1",
         "Softmax q 1 1 r q 0=0 1=1", "Reshape b 1 1 q z 0=4 1=3 2=2 12=1"],
        softmax(-X, 0),
    ),
    "extents of another batch": (
        [FIRST, "Split t 1 2 y p q", "Softmax s 1 1 p s 0=0 1=1", "UnaryOp n 1 1 q n 0=1",
         'Reshape b 2 1 s n z 6="1w,1h,2" 12=0'],
        softmax(X, 1),
    ),
    "a batch that is the result": ([FIRST, "Softmax s 1 1 y z 0=0 1=1"], softmax(X, 1)),
    "a batch of another order": (["Reshape a 1 1 x z 0=4 1=3 2=2 13=1"], X.transpose(1, 0, 2)),
    "no batch but its axis": (["Reshape b 1 1 x z 0=12 1=2 2=1 12=0"], X.reshape(1, 2, 12)),
    "a sample that has an axis of 1": (["Reshape b 1 1 x z 0=4 1=6 2=1 13=0"], X.reshape(6, 4)),
    "extents by their places": (["Reshape b 1 1 x z 0=-1 1=0 12=0"], X.reshape(1, 24)),
}  # fmt: skip


@pytest.mark.parametrize("name", list(NETWORKS))
def test_batches(name: str, tmp_path: Path) -> None:
    """Every layer between two moves of the batch axis sees one sample."""
    layers, expected = NETWORKS[name]
    files = write(tmp_path, layers)
    feeds = {"x": X, "u": X[0]}
    for level in (0, 2):
        found = ncc.compile(*files, opt_level=level, outputs=["z"]).run(feeds)
        np.testing.assert_allclose(found["z"], expected, rtol=1e-5, atol=1e-6)
        assert found["z"].shape == expected.shape


@pytest.mark.slow
@pytest.mark.skipif(not oracle.available(), reason="the ncnn wheel is not installed")
@pytest.mark.parametrize("name", list(NETWORKS))
def test_batches_are_those_of_ncnn(name: str, tmp_path: Path) -> None:
    """ncnn 1.0.20261020 gives the same."""
    layers, expected = NETWORKS[name]
    found = oracle.run(*write(tmp_path, layers), {"x": X, "u": X[0]}, ["z"])["z"]
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    "layers, output, error, message",
    [
        (
            [FIRST, "Reshape b 1 1 y z 0=3 1=2 11=2 2=1"], "z",
            Unsupported, "the output 'z', which is a batch",
        ),
        (
            [FIRST, "Reshape t 1 1 u t 0=4 1=1 2=3 13=0", "BinaryOp s 2 1 y t z 0=0"],
            "z", Unsupported, "batches of different sizes",
        ),
        (["Reshape a 1 1 x z 0=5 1=3 2=2 13=0"], "z", ModelError, "has 24 elements"),
        (["Reshape a 1 1 x z 0=24 13=0"], "z", ModelError, "samples of shape"),
        (["Reshape a 1 1 x z 0=24 12=4"], "z", ModelError, "axis 4 is out of range"),
        ([FIRST, "Softmax s 1 1 y s 0=5 1=1", BACK], "z", ModelError, "axis 5 is out of range"),
        (
            [FIRST, "Softmax s 1 1 y s 0=5 1=1", 'Reshape b 2 1 x s z 6="1w,1h,-1" 13=0'],
            "z", ModelError, "axis 5 is out of range",
        ),
    ],
)  # fmt: skip
def test_refused(
    layers: list[str], output: str, error: type[Exception], message: str, tmp_path: Path
) -> None:
    """A batch of too many axes, batches that do not go together, samples that are none or bad."""
    with pytest.raises(error, match=message):
        ncc.compile(*write(tmp_path, layers), outputs=[output])


@pytest.mark.parametrize(
    ("back", "column", "said"),
    [
        ("0=5 1=3 2=2 12=0", 9, "(2, 3, 4) has 24 elements and does not fit (2, 3, 5)"),
        ("0=4 1=3 2=2 12=7", 31, "axis 7 is out of range for a blob of rank 3"),
    ],
)
def test_samples_that_do_not_fit(tmp_path: Path, back: str, column: int, said: str) -> None:
    """The file is at fault, at the layer or its param."""
    param, binary = write(tmp_path, [FIRST, f"Reshape b 1 1 y z {back}"])
    with pytest.raises(ModelError) as caught:
        ncc.compile(param, binary)
    (problem,) = caught.value.problems
    assert problem.message == f"layer 'b' (Reshape): {said}"
    assert (problem.line, problem.column) == (6, column)


@pytest.mark.parametrize("shape", [(2, None, 4), (None, 3, 4)])
def test_samples_of_open_sizes(tmp_path: Path, shape: tuple[int | None, ...]) -> None:
    """Each shape has code of its own, as it has where the number of samples is open."""
    layers = ["Reshape a 1 1 x y 0=4 1=-1 2=0 13=0", "UnaryOp s 1 1 y s 0=1"]
    files = write(tmp_path, [*layers, "Reshape b 1 1 s z 0=4 1=-1"])
    model = ncc.compile(*files, input_shapes={"x": shape}, outputs=["z"])
    for extent in (3, 5):
        given = tuple(extent if side is None else side for side in shape)
        x = np.random.default_rng(extent).standard_normal(given, np.float32)
        found = model.run({"x": x, "u": X[0]})["z"]
        np.testing.assert_array_equal(found, -x.reshape(found.shape))
    assert "compiled for 2 shapes, since layer 'a' on line 5" in repr(model)


def test_optimizing_leaves_batches_alone(tmp_path: Path) -> None:
    """The file still says them, whatever else was found."""
    files = write(tmp_path, [FIRST, "Dropout d 1 1 y s", BACK])
    out = tmp_path / "out.param", tmp_path / "out.bin"
    ncc.optimize(*files, *out)
    assert "13=0" in out[0].read_text() and "12=0" in out[0].read_text()
    found = ncc.compile(*out, outputs=["z"]).run({"x": X, "u": X[0]})
    np.testing.assert_array_equal(found["z"], X)
