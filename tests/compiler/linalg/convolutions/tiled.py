"""Networks whose convolutions are rewritten to tiles, and what a test asks of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.linalg.ops import GenericOp

from ncc.compiler.cost_model import GivenTiles
from ncc.compiler.linalg.analysis.generics import network_of
from ncc.compiler.linalg.convolutions.choose_convolution import ChooseConvolution
from ncc.compiler.linalg.convolutions.forms import Form
from ncc.compiler.plan import Call, Plan
from ncc.compiler.target import AVX512, Target
from tests.structured.evaluate import evaluate

MakeNetwork: TypeAlias = Callable[..., ModuleOp]


def in_tiles(
    form: Form, rows: int | None = 1, formed: bool = False, target: Target = AVX512
) -> Target:
    """A target for which all convolutions take tiles of that form, or of the first that fits."""
    given = GivenTiles(form.tile, rows, formed)
    return replace(
        target,
        costs=target.costs._replace(winograd=target.costs.winograd._replace(given_tiles=given)),
    )


def rewritten(module: ModuleOp, target: Target) -> ModuleOp:
    ChooseConvolution(target).apply(Context(), module)
    module.verify()
    return module


def generics(module: ModuleOp) -> list[GenericOp]:
    return [op for op in network_of(module).body.block.ops if isinstance(op, GenericOp)]


def is_tiled(module: ModuleOp) -> bool:
    return any("separable" in op.attributes for op in generics(module))


def check_numbers(
    module: ModuleOp,
    shapes: Sequence[Sequence[int]],
    form: Form,
    rows: int | None = 1,
    formed: bool = False,
) -> None:
    """Before and after, in double precision: only the weights were rounded again."""
    draw = np.random.default_rng(1)
    arrays = [draw.standard_normal(shape).astype(np.float32) for shape in shapes]
    before = evaluate(network_of(module), arrays, dtype=np.float64)
    rewritten(module, in_tiles(form, rows, formed))
    assert is_tiled(module)
    after = evaluate(network_of(module), arrays, dtype=np.float64)
    for want, got in zip(before, after, strict=True):
        np.testing.assert_allclose(got, want, rtol=0, atol=1e-6 * np.abs(want).max())


def calls_of(planned: Plan) -> list[Call]:
    return [step for step in planned.steps if isinstance(step, Call)]
