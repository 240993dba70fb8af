"""Operators that a conversion left are told from types that are misspelled."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from ncc.compiler.diagnostics import ModelError
from ncc.compiler.read.layer_types import LAYER_TYPES
from ncc.compiler.read.left_over import CALLED_IN_NCNN, ONNX_OPERATORS, left_over
from ncc.compiler.read.read_network import read

Write = Callable[..., Path]


@pytest.mark.parametrize(
    ("type", "said"),
    [
        ("nn.MultiheadAttention", "(pnnx) left PyTorch's operator 'nn.MultiheadAttention' in"),
        ("F.interpolate", "(pnnx) left PyTorch's operator 'F.interpolate' in the file"),
        ("torch.roll", "(pnnx) left PyTorch's operator 'torch.roll' in the file"),
        ("Tensor.index_put", "(pnnx) left PyTorch's operator 'Tensor.index_put' in the file"),
        ("torchvision.ops.RoIAlign", "(pnnx) left PyTorch's operator 'torchvision.ops.RoIAlign'"),
        ("aten::roll", "(pnnx) left PyTorch's operator 'aten::roll' in the file"),
        ("prim::If", "(pnnx) left PyTorch's operator 'prim::If' in the file"),
        ("pnnx.Expression", "(pnnx) left its own operator 'pnnx.Expression' in the file"),
        ("onnx::NonZero", "(pnnx) left ONNX's operator 'onnx::NonZero' in the file"),
        ("models.common.Focus", "(pnnx) left the module 'models.common.Focus' in the file"),
        ("Shape", "the conversion left ONNX's operator 'Shape' in the file"),
        ("Gather", "the conversion left ONNX's operator 'Gather' in the file"),
    ],
)
def test_an_operator_that_was_left_is_named(write: Write, type: str, said: str) -> None:
    """No type of ncnn's was meant; the way on is another conversion."""
    with pytest.raises(ModelError) as caught:
        read(write(f"Input x 0 1 x 0=4\n{type} left 1 1 x y"))
    (problem,) = caught.value.problems
    assert said in problem.message and problem.message.startswith("the conversion")
    assert (problem.line, problem.suggestion) == (4, None)
    assert problem.how is not None and "pnnx" in problem.how


def test_every_kind_of_types_has_its_way_on(write: Write) -> None:
    """Told with the last that has it, so that none is told twice."""
    layers = """
        Input x 0 1 x 0=4
        nn.Foo a 1 1 x a
        Convolutoin b 1 1 a b
        aten::bar c 1 1 b c
    """
    with pytest.raises(ModelError) as caught:
        read(write(layers))
    first, second, third = caught.value.problems
    assert first.how is None
    assert second.suggestion == "Convolution" and "ncc optimize" in str(second.how)
    assert "convert again" in str(third.how)


@pytest.mark.parametrize(("type", "meant"), CALLED_IN_NCNN.items())
def test_what_ncnn_calls_otherwise_is_not_misspelled(write: Write, type: str, meant: str) -> None:
    """A Resize is no Reshape."""
    assert meant in LAYER_TYPES
    with pytest.raises(ModelError) as caught:
        read(write(f"Input x 0 1 x 0=4\n{type} left 1 1 x y"))
    assert caught.value.problems[0].suggestion == meant


def test_no_type_of_ncnn_was_left() -> None:
    """Nor a word that differs by its case alone, which is misspelled."""
    folded = {type.casefold() for type in LAYER_TYPES}
    assert not [type for type in LAYER_TYPES if left_over(type) is not None]
    assert not [type for type in ONNX_OPERATORS if type.casefold() in folded]
    assert not ONNX_OPERATORS & CALLED_IN_NCNN.keys()
    assert left_over("Convolutoin") is None
