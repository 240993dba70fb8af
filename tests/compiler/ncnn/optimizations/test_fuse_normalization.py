"""Normalizations that were written out, and their gains."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ncc.compiler.driver.assemble import artifact_of
from ncc.compiler.options import Options
from ncc.compiler.pipeline import Compilation
from ncc.dialects.ncnn.network import Network
from ncc.runtime.session import Model

CENTRED = """
    Reduction m 1 1 x m 0=3 1=0 -23303={axes} 4=1 5=1
    BinaryOp d 2 1 x m d 0=1
"""
SQUARES = {
    "product": "BinaryOp q 2 1 d d q 0=2\nReduction v 1 1 q v 0=3 1=0 -23303={axes} 4=1 5=1",
    "power": "BinaryOp q 1 1 d q 0=6 1=1 2=2\nReduction v 1 1 q v 0=3 1=0 -23303={axes} 4=1 5=1",
    "square": "UnaryOp q 1 1 d q 0=4\nReduction v 1 1 q v 0=3 1=0 -23303={axes} 4=1 5=1",
}
DIVISIONS = {
    "root": "UnaryOp r 1 1 e r 0=5\nBinaryOp n 2 1 d r n 0=3",
    "power": "BinaryOp r 1 1 e r 0=6 1=1 2=0.5\nBinaryOp n 2 1 d r n 0=3",
    "reciprocal": "UnaryOp r 1 1 e r 0=6\nBinaryOp n 2 1 r d n 0=2",
    "negative power": "BinaryOp r 1 1 e r 0=6 1=1 2=-0.5\nBinaryOp n 2 1 d r n 0=2",
}
EPS = "BinaryOp e 1 1 v e 0=0 1=1 2=1e-5"


def lines(
    shape: str = "0=6 1=5",
    axes: str = "1,-1",
    squares: str = "product",
    division: str = "root",
    centred: str = CENTRED,
) -> str:
    body = f"Input x 0 1 x {shape}\n{centred}\n{SQUARES[squares]}\n{EPS}\n{DIVISIONS[division]}\n"
    body = body if centred else body.replace(" d", " x")
    return body.replace("{axes}", axes)


@pytest.mark.parametrize("squares", SQUARES)
@pytest.mark.parametrize("division", DIVISIONS)
@pytest.mark.parametrize(
    ("shape", "axes"), [("0=6 1=5", "1,-1"), ("0=6 1=5 2=4", "1,2"), ("0=6 1=5 2=4", "2,-1,-2")]
)
def test_layer_norm(
    net: Any, optimized: Any, squares: str, division: str, shape: str, axes: str
) -> None:
    """(x - mean) / sqrt(variance + eps) in the ways that converters write it."""
    module = net(lines(shape, axes, squares, division))
    assert optimized(module)[-1] == "fuse_layernorm"
    assert len(Network.of(module).layers) == 2
    layer: Any = Network.of(module).layers[-1]
    assert (layer.LAYER.type, layer.layer_name, layer.affine) == ("LayerNorm", "n", 0)
    assert layer.eps == pytest.approx(1e-5)


def test_rms_norm(net: Any, optimized: Any) -> None:
    """Without the mean taken off it is an RMSNorm, with its gain."""
    text = lines(centred="") + "MemoryData g 0 1 g 0=6\nBinaryOp y 2 1 n g y 0=2"
    module = net(text)
    assert optimized(module)[:2] == ["fuse_rmsnorm", "fuse_rmsnorm_mul"]


@pytest.mark.parametrize(
    ("shape", "axes"),
    [("0=6 1=5", "1,0"), ("0=6 1=5 2=4", "1,1"), ("0=6 1=5 2=4", "3,0,1,2")],
)
def test_other_axes_are_no_layer_norm(net: Any, optimized: Any, shape: str, axes: str) -> None:
    """Rows, heights and everything are not the innermost axes that a LayerNorm takes."""
    assert not optimized(net(lines(shape, axes)))


def test_a_mean_of_other_axes_is_none(net: Any, optimized: Any) -> None:
    """The mean along w, the variance along h and w."""
    text = lines("0=6 1=5 2=4", "2,1,2").replace("m 0=3 1=0 -23303=2,1,2", "m 0=3 1=0 -23303=1,2")
    assert "fuse_layernorm" not in optimized(net(text))


OPEN = """7767517
6 7
Input x 0 1 x
Split s 1 2 x x0 x1
Reduction m 1 1 x0 m {mean} 1=0 -23303=1,-1 4=1 5=1
BinaryOp e 1 1 m e 0=0 1=1 2=1e-5
UnaryOp r 1 1 e r 0=5
BinaryOp n 2 1 x1 r n 0=3
"""


@pytest.mark.parametrize("mean", ["0=2 2=0.0044642857", "0=2 2=0.5"])
def test_rows_of_any_width_stay_written_out(mean: str, tmp_path: Path) -> None:
    """A layer says how many features it takes, and the sum of their squares over 224, the hint, is
    a mean at one width.
    """
    path = tmp_path / "net.param"
    path.write_text(OPEN.format(mean=mean))
    options = Options.of(input_shapes={"x": (3, None)})
    model = Model(artifact_of(Compilation(path, None, options), None))
    x = np.random.default_rng(0).standard_normal((3, 30)).astype(np.float32)
    wanted = x / np.sqrt(np.sum(x * x, 1, keepdims=True) * float(mean[6:]) + 1e-5)
    np.testing.assert_allclose(model(x), wanted, rtol=1e-5)


def test_what_others_read_stays(net: Any, optimized: Any) -> None:
    """The variance is an output, too."""
    assert not optimized(net(lines(), outputs=["v", "n"]))


@pytest.mark.parametrize("order", [("MUL", "ADD"), ("ADD", "MUL")])
@pytest.mark.parametrize(
    ("shape", "constant", "fires"),
    [
        ("0=6 1=5", "0=6", True),
        ("0=6 1=5", "0=1", True),
        ("0=6 1=5", "0=6 1=1", True),
        ("0=6 1=5", "0=5", False),
        ("0=6 1=5", "0=6 1=5", False),
        ("0=6 1=5 2=4", "0=6", True),
        ("0=6 1=5 2=4", "0=4", False),
    ],
)
def test_gains_go_in(
    net: Any, optimized: Any, order: tuple[str, str], shape: str, constant: str, fires: bool
) -> None:
    """A constant along the normalized axes is a gain or an offset; along others it is not."""
    kinds = {"MUL": 2, "ADD": 0}
    first, second = (kinds[name] for name in order)
    module = net(f"""
        Input x 0 1 x {shape}
        LayerNorm n 1 1 x n 0=6 1=0.001 2=0
        MemoryData g 0 1 g {constant}
        BinaryOp a 2 1 n g a 0={first}
        MemoryData b 0 1 b {constant}
        BinaryOp y 2 1 b a y 0={second}
    """)
    fired = optimized(module, off=["fuse_memorydata_binaryop"])
    wanted = [f"fuse_layernorm_{name.lower()}" for name in order]
    assert fired[:2] == (wanted if fires else fired[:2])
    assert any(name.startswith("fuse_layernorm") for name in fired) == fires


@pytest.mark.parametrize(
    "change",
    [
        ("m 0=3", "m 0=0"),
        ("-23303=1,-1 4=1 5=1\n    BinaryOp", "-23303=1,-1 4=0 5=1\n    BinaryOp"),
        ("m 0=3 1=0", "m 0=3 2=0.5 1=0"),
        ("v 0=3", "v 0=0"),
        ("d d q 0=2", "d d q 0=0"),
        ("q 2 1 d d q 0=2", "q 1 1 d q 0=2 1=1 2=3"),
        ("q 2 1 d d q 0=2", "q 1 1 d q 0=6 1=1 2=3"),
        ("d r n 0=3", "d r n 0=2"),
        ("d r n 0=3", "r d n 0=3"),
        ("r 0=5", "r 0=6"),
    ],
    ids=str,
)
def test_near_layer_norms(net: Any, optimized: Any, change: tuple[str, str]) -> None:
    """Sums, means without their axes, other powers, roots that are multiplied: each changes it."""
    text = lines("0=5 1=5")
    assert change[0] in text
    assert "fuse_layernorm" not in optimized(net(text.replace(*change)))


@pytest.mark.parametrize(("coeff", "fires"), [(1 / 6, True), (1.0, False)])
def test_a_reduction_that_squares(net: Any, optimized: Any, coeff: float, fires: bool) -> None:
    """The sum of squares times one by their number is their mean."""
    squares = f"Reduction v 1 1 x v 0=2 1=0 2={coeff!r} -23303=1,-1 4=1 5=1"
    text = f"Input x 0 1 x 0=6 1=5\n{squares}\n{EPS}\n{DIVISIONS['root']}".replace(" d ", " x ")
    assert ("fuse_rmsnorm" in optimized(net(text))) == fires
