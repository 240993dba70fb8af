"""Networks whose convolutions are rewritten to tiles, and what a test asks of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.linalg.ops import GenericOp

from ncc.compiler.linalg.analysis.generics import network_of
from ncc.compiler.linalg.convolutions.choose_convolution import ChooseConvolution
from ncc.compiler.plan import Call, Plan
from tests.structured.evaluate import evaluate

MakeNetwork: TypeAlias = Callable[..., ModuleOp]


def rewritten(module: ModuleOp) -> ModuleOp:
    ChooseConvolution().apply(Context(), module)
    module.verify()
    return module


def generics(module: ModuleOp) -> list[GenericOp]:
    return [op for op in network_of(module).body.block.ops if isinstance(op, GenericOp)]


def is_tiled(module: ModuleOp) -> bool:
    return any("separable" in op.attributes for op in generics(module))


def check_numbers(module: ModuleOp, shapes: Sequence[Sequence[int]]) -> None:
    """Before and after, in double precision: only the weights were rounded again."""
    draw = np.random.default_rng(1)
    arrays = [draw.standard_normal(shape).astype(np.float32) for shape in shapes]
    before = evaluate(network_of(module), arrays, dtype=np.float64)
    rewritten(module)
    assert is_tiled(module)
    after = evaluate(network_of(module), arrays, dtype=np.float64)
    for want, got in zip(before, after, strict=True):
        np.testing.assert_allclose(got, want, rtol=0, atol=1e-6 * np.abs(want).max())


def calls_of(planned: Plan) -> list[Call]:
    return [step for step in planned.steps if isinstance(step, Call)]
