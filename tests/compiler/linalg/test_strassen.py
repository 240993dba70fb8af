"""Strassen's product: its matrices, and the three generics by numbers."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import TensorType, f32
from xdsl.ir import Block, Region
from xdsl.parser import Parser

from ncc.compiler.linalg.evaluate import evaluate
from ncc.compiler.linalg.strassen import A, B, C, of_image, of_weights, product
from ncc.dialects.comprehension import Builder, Tensor
from ncc.dialects.ncnn.dialect import NCNN
from ncc.dialects.sources import Inline, Random, Weights
from ncc.dialects.weight import WeightAttr


def test_matrices() -> None:
    """C of the products of A and B is the product of blocks, for all that are one somewhere."""
    for w, x in np.ndindex(4, 4):
        (m, k), (j, n) = divmod(w, 2), divmod(x, 2)
        products = np.array(A)[:, w] * np.array(B)[:, x]
        expected = np.zeros((2, 2))
        expected[m, n] = k == j
        np.testing.assert_array_equal((np.array(C) @ products).reshape(2, 2), expected)


def test_sums_of_the_quarters_of_weights() -> None:
    """Each product's sum of quarters, behind the first axis."""
    plain = Weights((6, 4), Random(1, 2))
    quarters = plain.array().astype(np.float64).reshape(2, 3, 2, 2)
    factors = np.array(A).reshape(-1, 2, 2)
    held = plain.quartered(A)
    assert held.shape == (3, 7, 2)
    expected = np.einsum("smk,mokj->osj", factors, quarters)
    np.testing.assert_allclose(held.array(), expected, rtol=1e-6)


def test_sums_of_quarters_are_text() -> None:
    """A module with them prints and parses, numbers unchanged."""
    context = Context()
    context.load_dialect(NCNN)
    attribute = WeightAttr(Weights((32, 32), Random(1, 2)).quartered(A).blocked((2, 0), 16))
    assert Parser(context, str(attribute)).parse_attribute() == attribute


@pytest.mark.parametrize("stride", [(1, 1), (2, 2)])
def test_product(stride: tuple[int, int]) -> None:
    """The generics are the convolution, with a stride too."""
    generator = np.random.default_rng(0)
    x = generator.standard_normal((6, 8, 5), np.float32)
    w = generator.standard_normal((4, 6), np.float32)
    block = Block(arg_types=[TensorType(f32, x.shape)])
    b = Builder(block)
    v = of_image(b, Tensor(block.args[0], x.shape), 4 // stride[0], stride)
    u = of_weights(b, Weights(w.shape, Inline(w.tobytes())))
    y = b.collapse(product(b, v, u, 8 // stride[0]), [[0, 1], [2, 3], [4]])
    block.add_op(func.ReturnOp(y.value))
    function = func.FuncOp("f", ([block.args[0].type], [y.value.type]), Region(block))
    (found,) = evaluate(function, [x], dtype=np.float64)
    expected = np.einsum("oi,ihw->ohw", w.astype(np.float64), x[:, :: stride[0], :: stride[1]])
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5)
