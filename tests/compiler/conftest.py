"""Networks of the linalg level, written in index notation, and their memory plans."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from typing import TypeAlias

import pytest
from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr, f32
from xdsl.ir import Block, Region

from ncc.compiler.cost_model import CostModel
from ncc.compiler.linalg.convolutions.forms import F2, F4, S2, S3, S4, Form
from ncc.compiler.linalg.fusion.form_fusion_groups import FormFusionGroups
from ncc.compiler.linalg.memory.plan_memory import plan
from ncc.compiler.plan import Plan
from ncc.compiler.target import AVX512
from ncc.dialects.attributes import tensor_type
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.shapes import Shape
from ncc.dialects.size import is_open

Write: TypeAlias = Callable[..., "Tensor | Sequence[Tensor]"]
"""Writes operations: a builder and the arguments to the results."""

MakeNetwork: TypeAlias = Callable[[Sequence[Shape], Write], ModuleOp]


def network(shapes: Sequence[Shape], write: Write) -> ModuleOp:
    block = Block(arg_types=[tensor_type(f32, shape) for shape in shapes])
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
    if not is_open(*chain(*shapes)):
        module.verify()  # the operations of MLIR know of no sizes
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


@pytest.fixture(params=[pytest.param(F2, marks=pytest.mark.slow), F4], ids=["F2", "F4"])
def always_tiled(request: pytest.FixtureRequest) -> Form:
    """The form of tiles that all convolutions of a test take; a usual run has one of two."""
    form: Form = request.param
    return form


@pytest.fixture(params=[S2, S3, S4], ids=["S2", "S3", "S4"])
def always_tiled_at_stride(request: pytest.FixtureRequest) -> Form:
    """The same, a form of stride 2 for windows of 3x3."""
    form: Form = request.param
    return form
