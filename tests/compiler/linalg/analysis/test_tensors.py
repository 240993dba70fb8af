"""What is told of constants, and of windows of other tensors."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.dialects import tensor
from xdsl.dialects.builtin import TensorType, f32
from xdsl.ir import Block

from ncc.compiler.diagnostics import CompilerBug
from ncc.compiler.linalg.analysis.tensors import groups_of, is_constant, pad_value, weights_of
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.structured import pad_sides
from ncc.dialects.weights.weight import WeightAttr
from tests.compiler.linalg.operations import relu


def test_constants() -> None:
    """Weights are, under any shape; what is computed of them is not, nor what the run gives."""
    b = Builder(block := Block(arg_types=[TensorType(f32, [6])]))
    weight = b.weight(WeightAttr.of(np.arange(6, dtype=np.float32)))
    turned = b.reshape(b.reshape(weight, (2, 3)), (3, 2))
    assert is_constant(weight.value) and is_constant(turned.value)
    given = Tensor(block.args[0], (6,))
    for other in (relu(b, weight), given, b.reshape(given, (2, 3)), b.cut(weight, 0, 0, 2)):
        assert not is_constant(other.value)
        with pytest.raises(CompilerBug, match="no constant"):
            weights_of(other.value)
    assert weights_of(turned.value).shape == (3, 2)


def test_pads_and_reshapes() -> None:
    """Their attributes as numbers."""
    b = Builder(block := Block(arg_types=[TensorType(f32, [2, 3])]))
    x = Tensor(block.args[0], (2, 3))
    pad = b.pad(x, (0, 1), (2, 0), -1.5).value.owner
    assert isinstance(pad, tensor.PadOp)
    assert (pad_sides(pad), pad_value(pad)) == (([0, 1], [2, 0]), -1.5)
    flat = b.collapse(x, [[0, 1]]).value.owner
    assert isinstance(flat, tensor.CollapseShapeOp) and groups_of(flat) == [[0, 1]]
