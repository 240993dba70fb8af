"""The count of multiply-adds is the one that ncnn's users know."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from xdsl.dialects.builtin import ModuleOp

from ncc.compiler.diagnostics import ModelError
from ncc.compiler.ncnn.infer_shapes import infer_shapes
from ncc.compiler.ncnn.multiply_adds import multiply_adds, multiply_adds_of
from ncc.compiler.read.read_network import read
from ncc.dialects.ncnn.layer import LAYERS
from ncc.dialects.ncnn.network import Network

GOLDEN = Path(__file__).parents[4] / "shared" / "golden" / "models"
MODELS = [
    "alexnet",
    "mobilenet_yolo",
    "mobilenet_v3",
    "shufflenet",
    "squeezenet_ssd",
    "yolov4-tiny",
]


def network(folder: Path, *lines: str) -> ModuleOp:
    path = folder / "net.param"
    path.write_text("\n".join(["7767517", f"{len(lines)} 20", *lines, ""]))
    return read(path, random_weights=1).module


@pytest.mark.skipif(not GOLDEN.is_dir(), reason="there is no ../shared/golden beside the checkout")
@pytest.mark.parametrize("name", MODELS)
def test_it_is_what_ncnnoptimize_counts(name: str) -> None:
    """For networks of convolutions and inner products."""
    try:
        module = read(GOLDEN / f"{name}.in.param", random_weights=1).module
    except ModelError as error:
        pytest.skip(str(error))
    infer_shapes(module)
    told = re.search(r"^mac = (\d+)", (GOLDEN / f"{name}.log").read_text(), re.MULTILINE)
    assert told is not None and multiply_adds(module) == int(told.group(1))


@pytest.mark.parametrize(
    "inputs, layer, count",
    [
        (["0=4 1=3"], "InnerProduct l 1 1 x0 y 0=5 2=20", 3 * 4 * 5),
        (["0=4"], "InnerProduct l 1 1 x0 y 0=5 2=20", 4 * 5),
        (["0=4 1=3", "0=5 1=4"], "Gemm l 2 1 x0 x1 y", 3 * 5 * 4),
        (["0=3 1=4", "0=5 1=4"], "Gemm l 2 1 x0 x1 y 2=1", 3 * 5 * 4),
        (["0=4 1=3 2=2", "0=5 1=4 2=2"], "MatMul l 2 1 x0 x1 y", 2 * 3 * 5 * 4),
        (["0=4 1=4 2=3"], "Deconvolution l 1 1 x0 y 0=2 1=3 3=2 6=54", 54 * 16),
        (["0=4 1=4 2=3"], "ReLU l 1 1 x0 y", 0),
        (
            ["0=8 1=3"],
            "MultiHeadAttention l 1 1 x0 y 0=8 1=2 2=64",
            3 * 4 * 64 + 2 * 3 * 3 * 8,
        ),
    ],
)
def test_matrix_products(tmp_path: Path, inputs: list[str], layer: str, count: int) -> None:
    """One for each weight and each place it is used at."""
    given = [f"Input x{k} 0 1 x{k} {params}" for k, params in enumerate(inputs)]
    module = network(tmp_path, *given, layer)
    infer_shapes(module)
    assert multiply_adds(module) == count


def test_without_shapes_there_is_no_count() -> None:
    """None is not 0."""
    op = LAYERS["Gemm"].make([], {"constantA": 1, "constantB": 1})
    assert multiply_adds_of(op) is None


def test_the_layers_sum_up(tmp_path: Path) -> None:
    """What is not known is left out."""
    module = network(tmp_path, "Input a 0 1 a 0=4", "InnerProduct b 1 1 a b 0=2 2=8")
    assert multiply_adds(module) == 0
    infer_shapes(module)
    assert multiply_adds(module) == 8 == multiply_adds_of(Network.of(module).layers[1])
