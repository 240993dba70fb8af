"""Whether concats are in blocks is found with as little asking as there is to know."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import pytest
from xdsl.dialects import tensor
from xdsl.dialects.builtin import ModuleOp

from ncc.compiler.linalg.analysis.generics import network_of
from ncc.compiler.linalg.layout import packed_views
from ncc.compiler.linalg.layout.gather_channels import select
from ncc.compiler.linalg.layout.packed_axes import PackedAxes
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.weights.weight import WeightAttr
from tests.compiler.linalg.computations import relu

MakeNetwork: TypeAlias = Callable[..., ModuleOp]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], list[Any]]:
    """asked(name): what a function of packed_views is asked from now on."""

    def note(name: str) -> list[Any]:
        questions: list[Any] = []
        answer = getattr(packed_views, name)

        def noted(what: Any, axes: PackedAxes) -> Any:
            questions.append(what)
            return answer(what, axes)

        monkeypatch.setattr(packed_views, name, noted)
        return questions

    return note


def test_a_joint_that_is_summed_is_not_followed(
    make_network: MakeNetwork, asked: Callable[[str], list[Any]]
) -> None:
    """Concats of concats, each read by a sum: what stands behind each of them is not looked at."""

    def write(b: Builder, x: Tensor) -> Tensor:
        for _ in range(8):
            w = b.weight(WeightAttr.of(np.ones((16, x.shape[0]), np.float32)))
            o, y, z, i = b.loops(f"o y:{x.shape[1]} z:{x.shape[2]} i")
            x = b.concat([x, b.sum((o, y, z), over=(i,), of=x[i, y, z] * w[o, i])], 0)
        return relu(b, x)

    block = network_of(make_network([(32, 4, 4)], write)).body.block
    concats = [op for op in block.ops if isinstance(op, tensor.ConcatOp)]
    questions, followed = asked("has_gaps"), asked("is_selected")
    assert not any([packed_views.has_gaps(concat_op, PackedAxes()) for concat_op in concats])
    assert len(questions) == len(followed) == len(concats) == 8


def test_joints_may_lie_in_one_another_to_any_depth(make_network: MakeNetwork) -> None:
    """Each is read by the next one only, and the last one by whoever called."""

    def write(b: Builder, x: Tensor) -> Tensor:
        for _ in range(500):
            x = b.concat([x, b.full((16, 1, 1), 0.0)], 0)
        return x

    block = network_of(make_network([(16, 1, 1)], write)).body.block
    assert not packed_views.is_selected(block.args[0], PackedAxes())


@pytest.mark.parametrize("selected", [False, True])
def test_joints_behind_one_another_are_asked_once(
    make_network: MakeNetwork, asked: Callable[[str], list[Any]], selected: bool
) -> None:
    """Whichever of them is asked first, and whatever reads the last one."""

    def write(b: Builder, x: Tensor) -> Tensor:
        for _ in range(20):
            x = b.concat([x, b.full((16, 1, 1), 0.0)], 0)
        return select(b, x.value, range(0, 336, 2)) if selected else x

    block = network_of(make_network([(16, 1, 1)], write)).body.block
    values = [block.args[0], *(op.result for op in block.ops if isinstance(op, tensor.ConcatOp))]
    for order in (values, values[::-1]):
        questions, axes = asked("_joined"), PackedAxes()
        assert [packed_views.is_selected(value, axes) for value in order] == [selected] * 21
        assert len(questions) == 21
