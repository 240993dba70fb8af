"""Constants go into binary operations, and scaled terms into one sum."""

from __future__ import annotations

from typing import Any

import pytest

from ncc.compiler.ncnn.optimizations.fuse_binaryop import SWAPPED
from ncc.compiler.ncnn.optimize import explain
from ncc.dialects.ncnn.elementwise.arithmetic import BINARY_FUNCTIONS, BinaryOpOp, EltwiseOp
from ncc.dialects.ncnn.network import Network
from tests.crossed import crossed


def test_each_function_has_its_reverse() -> None:
    """The reverse of the reverse is the function."""
    assert sorted(SWAPPED) == list(range(len(BINARY_FUNCTIONS)))
    assert all(SWAPPED[SWAPPED[kind]] == kind for kind in SWAPPED)


@pytest.mark.parametrize(
    ("shape", "operands", "op_type"),
    crossed(["0=1", "0=1 1=1 2=1"], ["x k", "k x"], range(len(BINARY_FUNCTIONS))),
)
def test_one_number_goes_in(
    net: Any, optimized: Any, op_type: int, operands: str, shape: str
) -> None:
    """A constant of one element, on either side of any of the functions, becomes a param."""
    module = net(
        f"""
        Input x 0 1 x 0=5 1=4 2=3
        MemoryData k 0 1 k {shape}
        BinaryOp y 2 1 {operands} y 0={op_type}
        """,
        {"k.data": 1.75},
    )
    wanted = ["fuse_memorydata_binaryop", "eliminate_orphaned_memorydata"]
    assert sorted(optimized(module)) == sorted(wanted)
    layer = Network.of(module).layers[-1]
    assert isinstance(layer, BinaryOpOp) and layer.with_scalar and layer.b == 1.75


def test_a_shared_number_goes_into_each_reader(net: Any, optimized: Any) -> None:
    """With a Split and without; the constant goes when nobody is left, and stays as an output."""
    text = """
        Input x 0 1 x 0=5 1=4
        MemoryData k 0 1 k 0=1
        {split}
        BinaryOp a 2 1 x {p} a 0=1
        BinaryOp b 2 1 {q} a b 0=6
    """
    for split, p, q in (("", "k", "k"), ("Split s 1 2 k p q", "p", "q")):
        module = net(text.format(split=split, p=p, q=q), {"k.data": 2.0})
        assert optimized(module).count("fuse_memorydata_binaryop") == 2
        assert len(Network.of(module).layers) == 3
    module = net(text.format(split="", p="k", q="k"), {"k.data": 2.0}, outputs=["k", "b"])
    optimized(module)
    assert len(Network.of(module).layers) == 4


def test_a_number_may_raise_the_rank(net: Any, optimized: Any) -> None:
    """[1, 1] and a vector make a matrix; without shapes that is not known."""
    module = net("""
        Input x 0 1 x 0=5
        MemoryData k 0 1 k 0=1 1=1
        BinaryOp y 2 1 x k y 0=0
    """)
    assert not optimized(module)
    [(_, reason)] = explain(module, "fuse_memorydata_binaryop")
    assert reason == "the constant may have a higher rank than what it is combined with"
    module = net(
        "Input x 0 1 x\nMemoryData k 0 1 k 0=1 1=1\nBinaryOp y 2 1 x k y 0=0", shapes=False
    )
    assert not optimized(module)


def test_nan_stays_a_constant(net: Any, optimized: Any) -> None:
    """A NaN is no param: no text of it is read back everywhere."""
    text = "Input x 0 1 x 0=5\nMemoryData k 0 1 k 0=1\nBinaryOp y 2 1 x k y 0=4"
    assert not optimized(net(text, {"k.data": float("nan")}))


@pytest.mark.parametrize(
    ("first", "second", "coefficients"),
    [("2", "2", (0.5, 3.0)), ("2", "0", (0.5, 1.0)), ("0", "2", (1.0, 3.0))],
)
def test_scaled_terms_become_a_sum(
    net: Any, optimized: Any, first: str, second: str, coefficients: tuple[float, float]
) -> None:
    """a * s + b * t, and with one factor missing."""
    module = net(f"""
        Input x 0 1 x 0=5 1=4 2=3
        Input z 0 1 z 0=5 1=4 2=3
        BinaryOp a 1 1 x a 0={first} 1=1 2=0.5
        BinaryOp b 1 1 z b 0={second} 1=1 2=3
        BinaryOp y 2 1 a b y 0=0
    """)
    assert optimized(module) == ["fuse_binaryop_eltwise"]
    layer = Network.of(module).layers[-1]
    assert isinstance(layer, EltwiseOp) and layer.coeffs == coefficients
    assert layer.layer_name == "y"


def test_one_product_twice(net: Any, optimized: Any) -> None:
    """a * s + a * s reads the product twice, so it stays."""
    module = net("""
        Input x 0 1 x 0=5 1=4
        BinaryOp a 1 1 x a 0=2 1=1 2=0.5
        BinaryOp y 2 1 a a y 0=0
    """)
    assert not optimized(module)


@pytest.mark.parametrize("shapes", [("0=3", "0=5 1=4 2=3"), ("0=5 1=4 2=3", "0=3"), ("0=5", "0=1")])
def test_an_eltwise_does_not_broadcast(net: Any, optimized: Any, shapes: tuple[str, str]) -> None:
    """Terms of different shapes stay with BinaryOp, in both orders."""
    module = net(f"""
        Input x 0 1 x {shapes[0]}
        Input z 0 1 z {shapes[1]}
        BinaryOp a 1 1 x a 0=2 1=1 2=0.5
        BinaryOp b 1 1 z b 0=2 1=1 2=3
        BinaryOp y 2 1 a b y 0=0
    """)
    assert not optimized(module)


SUM = """
    Input x 0 1 x {0}
    Input z 0 1 z {0}
    {1}
    BinaryOp y {2} y 0=0
"""
FACTOR = "BinaryOp a 1 1 x a 0=2 1=1 2=0.5"


@pytest.mark.parametrize(
    ("factor", "terms"),
    [(FACTOR, "1 1 a"), ("BinaryOp a 2 1 x z a 0=2", "2 1 a z")],
    ids=["a number", "a product of two"],
)
def test_what_is_no_sum_of_scaled_terms(net: Any, optimized: Any, factor: str, terms: str) -> None:
    """A number is added to one term; a factor is no number."""
    text = SUM.format("0=5 1=4", factor, terms)
    assert not optimized(net(text.replace("y 0=0", "y 0=0 1=1 2=3") if terms[0] == "1" else text))


def test_terms_of_unknown_shapes_stay(net: Any, optimized: Any) -> None:
    """One may have to be broadcast."""
    module = net(SUM.format("", FACTOR, "2 1 a z"), shapes=False)
    assert not optimized(module)
    reason = "the shapes of the terms are not known"
    assert explain(module, "fuse_binaryop_eltwise") == [("y", reason)]


def test_a_factor_of_a_filter_stays_for_it(net: Any, optimized: Any) -> None:
    """The product costs nothing there, the sum is one of two terms."""
    convolution = "Convolution c 1 1 x c 0=2 1=1 6=4\nBinaryOp a 1 1 c a 0=2 1=1 2=0.5"
    fired = optimized(net(SUM.format("0=5 1=4 2=2", convolution, "2 1 a z")))
    assert "fuse_binaryop_eltwise" not in fired and "fuse_convolution_mul" in fired
