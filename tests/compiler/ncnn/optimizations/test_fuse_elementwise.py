"""Activations that were written out are found whatever the order of their arithmetic."""

from __future__ import annotations

from typing import Any

import pytest

from ncc.compiler.ncnn.optimizations import elementwise_terms
from ncc.compiler.ncnn.optimizations.elementwise_terms import is_tanh
from ncc.dialects.ncnn.layer import Layer
from ncc.dialects.ncnn.network import Network

INPUT = "Input x 0 1 x 0=6 1=5\n"

GELU = {
    "half first": """
        BinaryOp d 1 1 x d 0=3 1=1 2=1.41421356
        Erf e 1 1 d e
        BinaryOp p 1 1 e p 0=0 1=1 2=1
        BinaryOp h 1 1 x h 0=2 1=1 2=0.5
        BinaryOp y 2 1 h p y 0=2""",
    "half last": """
        BinaryOp d 1 1 x d 0=2 1=1 2=0.70710678
        Erf e 1 1 d e
        BinaryOp p 1 1 e p 0=0 1=1 2=1
        BinaryOp m 2 1 p x m 0=2
        BinaryOp y 1 1 m y 0=3 1=1 2=2""",
    "half inside": """
        BinaryOp d 1 1 x d 0=2 1=1 2=0.70710678
        Erf e 1 1 d e
        BinaryOp s 1 1 e s 0=2 1=1 2=0.5
        BinaryOp p 1 1 s p 0=0 1=1 2=0.5
        Eltwise y 2 1 p x y 0=0""",
    "by tanh": """
        BinaryOp c 1 1 x c 0=6 1=1 2=3
        BinaryOp k 1 1 c k 0=2 1=1 2=0.044715
        BinaryOp a 2 1 x k a 0=0
        BinaryOp s 1 1 a s 0=2 1=1 2=0.79788456
        TanH t 1 1 s t
        BinaryOp o 1 1 t o 0=0 1=1 2=1
        BinaryOp h 1 1 x h 0=2 1=1 2=0.5
        BinaryOp y 2 1 h o y 0=2""",
    "by tanh, factored": """
        UnaryOp q 1 1 x q 0=4
        BinaryOp k 1 1 q k 0=2 1=1 2=0.035677408
        BinaryOp a 1 1 k a 0=0 1=1 2=0.79788456
        BinaryOp s 2 1 x a s 0=2
        UnaryOp t 1 1 s t 0=16
        BinaryOp o 1 1 t o 0=0 1=1 2=1
        BinaryOp m 2 1 o x m 0=2
        BinaryOp y 1 1 m y 0=2 1=1 2=0.5""",
}


PRODUCT = "BinaryOp y 2 1 x s y 0=2"
CLIPPED = """
    {argument}
    Clip s 1 1 a s 0={low} 1={high}
    BinaryOp d 1 1 s d 0=3 1=1 2={high}
    BinaryOp y 2 1 x d y 0=2
"""


def last(module: Any) -> Any:
    layer = Network.of(module).layers[-1]
    assert len(Network.of(module).layers) == 2
    return layer


@pytest.mark.parametrize("form", GELU)
def test_gelu(net: Any, optimized: Any, form: str) -> None:
    """x / 2 (1 + erf(x / sqrt(2))) and its approximation by tanh, in several orders."""
    module = net(INPUT + GELU[form])
    assert "fuse_gelu" in optimized(module)
    layer = last(module)
    assert layer.LAYER.type == "GELU" and layer.fast_gelu == int("tanh" in form)
    assert (layer.layer_name, layer.blob_names) == ("y", ("y",))


@pytest.mark.parametrize(
    "change",
    [("0.70710678", "0.7"), ("2=0.5", "2=0.25"), ("0=0 1=1 2=0.5", "0=0 1=1 2=1"), ("Erf", "TanH")],
)
def test_other_numbers_are_no_gelu(net: Any, optimized: Any, change: tuple[str, str]) -> None:
    """A factor that is not the one, or another function, is left alone."""
    module = net(INPUT + GELU["half inside"].replace(*change))
    assert "fuse_gelu" not in optimized(module)


def test_a_part_that_others_read_is_left(net: Any, optimized: Any) -> None:
    """The error function is an output, too."""
    module = net(INPUT + GELU["half first"], outputs=["e", "y"])
    assert "fuse_gelu" not in optimized(module)


@pytest.mark.parametrize("product", ["BinaryOp y 2 1 {} y 0=2", "Eltwise y 2 1 {} y 0=0"])
@pytest.mark.parametrize("operands", ["x s", "s x"])
def test_swish(net: Any, optimized: Any, product: str, operands: str) -> None:
    """x sigmoid(x), in both orders and by both products."""
    module = net(INPUT + "Sigmoid s 1 1 x s\n" + product.format(operands))
    assert optimized(module) == ["fuse_swish"]
    assert last(module).LAYER.type == "Swish"


def test_sigmoid_of_another_is_no_swish(net: Any, optimized: Any) -> None:
    """z sigmoid(x) is a gate, and so is x sigmoid(2 x)."""
    gate = "Input z 0 1 z 0=6 1=5\nSigmoid s 1 1 x s\nBinaryOp y 2 1 z s y 0=2"
    assert not optimized(net(INPUT + gate))
    twice = "BinaryOp t 1 1 x t 0=2 1=1 2=2\nSigmoid s 1 1 t s\nBinaryOp y 2 1 x s y 0=2"
    assert not optimized(net(INPUT + twice))


@pytest.mark.parametrize("function", ["Sigmoid", "HardSigmoid"])
@pytest.mark.parametrize("rest", ["s 1 1 x s\nBinaryOp y 2 1 x s y 0=0", "s 1 1 t s\n" + PRODUCT])
def test_another_sum_or_argument_is_no_product(
    net: Any, optimized: Any, function: str, rest: str
) -> None:
    """x + f(x), and x f(2 x)."""
    twice = "BinaryOp t 1 1 x t 0=2 1=1 2=2\n" if "1 t s" in rest else ""
    assert not optimized(net(f"{INPUT}{twice}{function} {rest}"))


@pytest.mark.parametrize(
    ("text", "alpha", "beta"),
    [
        ("HardSigmoid s 1 1 x s 0=0.25 1=0.5\nBinaryOp y 2 1 x s y 0=2", 0.25, 0.5),
        (
            "BinaryOp a 1 1 x a 0=0 1=1 2=3\nClip s 1 1 a s 0=0 1=6\n"
            "BinaryOp m 2 1 x s m 0=2\nBinaryOp y 1 1 m y 0=3 1=1 2=6",
            1 / 6,
            0.5,
        ),
        (
            "BinaryOp a 1 1 x a 0=0 1=1 2=3\nClip s 1 1 a s 0=0 1=6\n"
            "BinaryOp d 1 1 s d 0=3 1=1 2=6\nBinaryOp y 2 1 d x y 0=2",
            1 / 6,
            0.5,
        ),
    ],
)
def test_hard_swish(net: Any, optimized: Any, text: str, alpha: float, beta: float) -> None:
    """x HardSigmoid(x), and x min(max(x + 3, 0), 6) / 6."""
    module = net(INPUT + text)
    assert "fuse_hardswish" in optimized(module)
    layer = last(module)
    assert layer.alpha == pytest.approx(alpha) and layer.beta == pytest.approx(beta)


def test_another_limit_is_no_hard_swish(net: Any, optimized: Any) -> None:
    """x min(max(x + 3, 0), 6) without the division, and limits that do not start at 0."""
    text = "BinaryOp a 1 1 x a 0=0 1=1 2=3\nClip s 1 1 a s 0={} 1=6\nBinaryOp y 2 1 x s y 0=2"
    for low in (0, -1):
        assert "fuse_hardswish" not in optimized(net(INPUT + text.format(low)))


@pytest.mark.parametrize(
    ("argument", "low", "high", "fires"),
    [
        ("BinaryOp a 1 1 x a 0=0 1=1 2=3", 0, 6, True),
        ("BinaryOp a 1 1 x a 0=2 1=1 2=2", 0, 6, True),
        ("BinaryOp a 1 1 x a 0=0 1=1 2=3", -1, 6, False),
        ("BinaryOp a 1 1 x a 0=0 1=1 2=3", 0, -6, False),
        ("BinaryOp a 1 1 x a 0=7 1=1 2=3", 0, 6, False),
        ("BinaryOp a 2 1 x x a 0=2", 0, 6, False),
    ],
)
def test_limits_and_lines_of_a_hard_swish(
    net: Any, optimized: Any, argument: str, low: int, high: int, fires: bool
) -> None:
    """A line that rises, with an offset or without, cut at 0 and at what it is divided by."""
    text = CLIPPED.format(argument=argument, low=low, high=high)
    assert ("fuse_hardswish" in optimized(net(INPUT + text))) == fires


@pytest.mark.parametrize(
    "turn",
    [
        "BinaryOp a{i} 2 1 a{j} a{j} a{i} 0=0",
        "Sigmoid s{i} 1 1 a{j} s{i}\nBinaryOp a{i} 2 1 s{i} a{j} a{i} 0=0",
    ],
    ids=["doubled", "residual"],
)
def test_layers_that_many_read_are_read_once(
    net: Any, optimized: Any, monkeypatch: pytest.MonkeyPatch, turn: str
) -> None:
    """A chain of sums is a tree of 2^n leaves, and none of them is what the function is given."""
    read: list[Layer] = []

    def counted(op: Layer, functions: tuple[type[Layer], ...]) -> bool:
        read.append(op)
        return is_tanh(op, functions)

    monkeypatch.setattr(elementwise_terms, "is_tanh", counted)
    turns = "\n".join(turn.format(i=i, j=i - 1) for i in range(1, 41))
    gate = "Sigmoid s 1 1 a40 s\nBinaryOp y 2 1 a39 s y 0=2"
    assert "fuse_swish" not in optimized(net(f"Input x 0 1 a0 0=6 1=5\n{turns}\n{gate}\n"))
    assert len(read) < 100_000
