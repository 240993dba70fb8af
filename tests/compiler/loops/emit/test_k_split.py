"""Kernels of sums whose last block of outputs splits k."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pytest

import ncc
from ncc.compiler.pipeline import stages
from ncc.compiler.read.read_network import read
from ncc.compiler.verification.interpret import interpret
from tests.crossed import crossed, some
from tests.runnable import NAMES, skipped_on_a_lesser_cpu

Array: TypeAlias = np.ndarray[Any, Any]

SEED = 11

LAYERS = {
    "half a block": "Convolution c 1 1 a c 0=24 1=1 5=1 6={}",
    "a quarter": "Convolution c 1 1 a c 0=20 1=1 5=1 6={}",
    "one output": "Convolution c 1 1 a c 0=17 1=1 5=1 6={}",
    "no whole block": "Convolution c 1 1 a c 0=7 1=1 5=1 6={}",
    "blocks that leave a tile": "Convolution c 1 1 a c 0=116 1=1 5=1 6={}",
    "a window": "Convolution c 1 1 a c 0=24 1=3 3=2 4=1 5=1 6={} 9=2 -23310=1,0.1",
    "groups": "ConvolutionDepthWise c 1 1 a c 0=40 1=1 5=1 6={} 7=2 9=1",
    "no bias": "Convolution c 1 1 a c 0=36 1=1 6={}",
}
"""Each reads 32, 40 or 36 channels: whole blocks, half of one more, and a quarter."""


def network(folder: Path, layer: str, inputs: int, size: tuple[int, int]) -> Path:
    """The layer between two convolutions, so that its operand and result are in blocks; a residual
    and an activation follow it.
    """
    outputs = int(layer.split(" 0=")[1].split()[0])
    window = int(layer.split(" 1=")[1].split()[0])
    groups = 2 if "7=2" in layer else 1
    count = outputs * inputs // groups * window**2
    param = folder / "net.param"
    param.write_text(
        "7767517\n8 9\n"
        f"Input in 0 1 in 0={size[1]} 1={size[0]} 2=16\n"
        f"Convolution a 1 1 in a 0={inputs} 1=1 5=1 6={16 * inputs}\n"
        f"{layer.format(count)}\n"
        "Split s 1 2 c c0 c1\n"
        "Swish w 1 1 c0 w\n"
        "BinaryOp r 2 1 w c1 r 0=0\n"
        "ReLU e 1 1 r e\n"
        f"Convolution z 1 1 e out 0=16 1=1 5=1 6={16 * outputs}\n"
    )
    return param


def expected_of(param: Path, feeds: dict[str, Array]) -> Array:
    with np.errstate(invalid="ignore"):
        [found] = interpret(read(param, None, random_weights=SEED).module, feeds).values()
    return np.asarray(found)


@pytest.mark.parametrize(("layer", "inputs"), crossed(list(LAYERS), [32, 40, 36], usual=4))
def test_results(tmp_path: Path, layer: str, inputs: int) -> None:
    """Those of the layers' definitions, for whole and partial tiles of points."""
    param = network(tmp_path, LAYERS[layer], inputs, (9, 11))
    feeds = {"in": np.random.default_rng(1).standard_normal((16, 9, 11)).astype(np.float32)}
    expected = expected_of(param, feeds)
    with skipped_on_a_lesser_cpu():
        model = ncc.compile(param, random_weights=SEED, target="avx512", num_threads=1)
        found = np.asarray(model.run(feeds)["out"])
    assert abs(found - expected).max() <= 2e-6 * abs(expected).max()


@pytest.mark.parametrize("target", some(NAMES, usual=1))
def test_threads_make_no_difference(tmp_path: Path, target: str) -> None:
    """Any thread may compute a block that splits k."""
    param = network(tmp_path, LAYERS["half a block"], 40, (13, 7))
    feeds = {"in": np.random.default_rng(2).standard_normal((16, 13, 7)).astype(np.float32)}
    one, many = (
        ncc.compile(param, random_weights=SEED, target=target, num_threads=n).run(feeds)["out"]
        for n in (1, 5)
    )
    assert np.asarray(one).tobytes() == np.asarray(many).tobytes()


def test_inputs_that_do_not_count_are_not_read(tmp_path: Path) -> None:
    """Two blocks of 40 inputs: eight iterations of two, four for the inputs of the last one."""
    param = network(tmp_path, LAYERS["half a block"], 40, (9, 11))
    texts = stages(param, None, opt_level=2, target="avx512", random_weights=SEED)
    loops = next(str(text) for name, text in texts if name == "loops")
    [folded] = [text for text in loops.split("func.func") if "vector<2xf32>" in text]
    numbers = dict(re.findall(r"(%\w+) = arith.constant (\d+) : index", folded))
    ends, innermost = set[str](), ""
    for line in folded.splitlines():
        if found := re.search(r"scf.for .* to (%\w+) ", line):
            innermost = numbers.get(found[1], "")
        if "vector<2xf32>" in line:
            ends.add(innermost)
    assert ends == {"8", "4"}


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_one_input_that_is_no_number(tmp_path: Path, value: float) -> None:
    """Results are those of the layers' definitions, since each lane has its own inputs."""
    param = network(tmp_path, LAYERS["a quarter"], 32, (5, 4))
    x = np.random.default_rng(3).standard_normal((16, 5, 4)).astype(np.float32)
    x[3, 2, 1] = value
    expected = expected_of(param, {"in": x})
    with skipped_on_a_lesser_cpu():
        model = ncc.compile(param, random_weights=SEED, target="avx512", num_threads=1)
        found = np.asarray(model.run({"in": x})["out"])
    np.testing.assert_array_equal(np.isfinite(found), np.isfinite(expected))
