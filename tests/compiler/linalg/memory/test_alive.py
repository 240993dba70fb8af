"""What is alive at each step."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects.builtin import ModuleOp

from ncc.compiler.linalg.memory.alive import alive_at, touches
from ncc.compiler.plan import Plan, touched
from ncc.dialects.index_notation import Builder, Tensor
from tests.compiler.linalg.operations import relu

MakeNetwork = Callable[..., ModuleOp]
MakePlan = Callable[[ModuleOp], Plan]


def test_lives_overlap() -> None:
    """A life holds its first step and its last one, be they the same."""
    assert alive_at([(1, 3, 5), (3, 3, 2), (0, 4, 1)], 5) == [1, 6, 6, 8, 1]


def test_nothing_lives() -> None:
    """A step at which nothing is alive has no bytes, and no steps have no bytes."""
    assert alive_at([], 2) == [0, 0]
    assert alive_at([], 0) == []


def test_touches(make_network: MakeNetwork, make_plan: MakePlan) -> None:
    """Writers and readers touch a buffer, once each; the filling of a halo writes as well."""

    def write(b: Builder, x: Tensor) -> Tensor:
        return relu(b, b.pad(relu(b, x), [0, 1, 1], [0, 1, 1]))

    steps = make_plan(make_network([(4, 8, 8)], write)).steps
    padded = next(buffer for buffer in touched(steps[0])[1])
    assert touches(steps)[padded] == [0, 1, 2]
    assert touches([steps[2], steps[2]])[padded] == [0, 1]
