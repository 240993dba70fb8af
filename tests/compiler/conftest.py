"""Networks of the linalg level, written in index notation, and their memory plans."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import pytest
from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr, TensorType, f32
from xdsl.ir import Block, Region

from ncc.compiler.cost_model import CostModel
from ncc.compiler.linalg.convolutions import choose_convolution as convolve
from ncc.compiler.linalg.convolutions import convolution
from ncc.compiler.linalg.convolutions.forms import F2, F4, S2, S3, S4, Form, forms_of
from ncc.compiler.linalg.convolutions.tiling import Tiling
from ncc.compiler.linalg.fusion.form_fusion_groups import FormFusionGroups
from ncc.compiler.linalg.memory.plan_memory import plan
from ncc.compiler.plan import Plan
from ncc.compiler.target import AVX512
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.shapes import Shape

Write: TypeAlias = Callable[..., "Tensor | Sequence[Tensor]"]
"""Writes a computation: a builder and the arguments to the results."""

MakeNetwork: TypeAlias = Callable[[Sequence[Shape], Write], ModuleOp]


def network(shapes: Sequence[Shape], write: Write) -> ModuleOp:
    block = Block(arg_types=[TensorType(f32, list(shape)) for shape in shapes])
    tensors = [Tensor(arg, shape) for arg, shape in zip(block.args, shapes, strict=True)]
    written = write(Builder(block, "layer"), *tensors)
    results = [t.value for t in ([written] if isinstance(written, Tensor) else written)]
    block.add_op(func.ReturnOp(*results))
    types = ([arg.type for arg in block.args], [result.type for result in results])
    function = func.FuncOp("network", types, Region(block))
    for which, count in (("inputs", len(shapes)), ("outputs", len(results))):
        names = ArrayAttr([StringAttr(f"{which[:-1]}{k}") for k in range(count)])
        function.attributes[which] = names
    module = ModuleOp([function])
    module.verify()
    return module


@pytest.fixture(scope="session")
def make_network() -> MakeNetwork:
    """make_network(shapes, write): a module whose function is `write(builder, *arguments)`."""
    return network


@pytest.fixture(scope="session")
def make_plan() -> Callable[..., Plan]:
    """make_plan(module): the memory plan of a network, which is outlined in place."""

    def planned(
        module: ModuleOp, epilogues: bool = True, threads: int = 1, costs: CostModel = AVX512.costs
    ) -> Plan:
        FormFusionGroups(epilogues=epilogues).apply(Context(), module)
        module.verify()
        found = plan(module, threads, costs=costs)
        module.verify()
        return found

    return planned


@pytest.fixture(params=[F2, F4], ids=["F2", "F4"])
def always_tiled(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Form:
    """Tiles pay for every convolution, in chunks of one row of tiles."""
    return _always_by(request.param, monkeypatch)


@pytest.fixture(params=[S2, S3, S4], ids=["S2", "S3", "S4"])
def always_tiled_at_stride(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Form:
    """The same, by a form of stride 2 for windows of 3x3."""
    return _always_by(request.param, monkeypatch)


def _always_by(form: Form, monkeypatch: pytest.MonkeyPatch) -> Form:
    """Tiles pay for every convolution: by `form`, or by the first that is made for it."""

    def tiling_of(*sizes: Any, taps: int, stride: int, halves: bool) -> Tiling | None:
        forms = (form, *forms_of(taps, stride, sizes[-1]))
        fitting = [f for f in forms if (f.taps, f.stride) == (taps, stride)]
        return replace(Tiling(fitting[0], *sizes), halves=halves) if fitting else None

    monkeypatch.setattr(convolution, "tiling_of", tiling_of)
    monkeypatch.setattr(convolve, "chunk_size", lambda tiling, *_, **__: 1)
    return form
