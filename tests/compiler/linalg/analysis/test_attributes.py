"""What attributes of an operation say, and which rewrites they permit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr, UnitAttr, f32

from ncc.compiler.diagnostics import CompilerBug
from ncc.compiler.linalg.analysis import attributes
from ncc.compiler.linalg.analysis.attributes import TypedAttribute
from ncc.compiler.linalg.analysis.generics import generics_of, network_of
from ncc.compiler.linalg.analysis.linalg_op import LinalgOp
from tests.compiler.linalg.operations import relu

ALL: list[tuple[TypedAttribute[Any], Any]] = [
    (attributes.VALID_EXTENTS, ((0, 1, 17), (2, 3, 5))),
    (attributes.CHANNELS, (3, 1, 2)),
    (attributes.LANES, (16, 0)),
    (attributes.SEPARABLE, (((1.0, 0.5), (0.0, -1.0)), ((1.0,),))),
    (attributes.FACTORS, f32),
    (attributes.BF16_SPLIT, True),
]


@pytest.fixture
def linalg_op(make_network: Callable[..., ModuleOp]) -> LinalgOp:
    """An operation without attributes."""
    (op,) = generics_of(network_of(make_network([(4, 5)], relu)).body.block)
    return LinalgOp(op)


@pytest.mark.parametrize(("attribute", "value"), ALL, ids=lambda one: getattr(one, "name", ""))
def test_an_attribute_is_read_as_it_was_put(
    linalg_op: LinalgOp, attribute: TypedAttribute[Any], value: Any
) -> None:
    """Under its name; `LinalgOp` has a property of that name."""
    op = linalg_op.op
    assert attribute.of(op) is None
    attribute.put(op, value)
    assert attribute.of(op) == getattr(LinalgOp(op), attribute.name) == value
    attribute.drop(op)
    assert attribute.of(op) is None and not op.attributes


@pytest.mark.parametrize(("attribute", "value"), ALL, ids=lambda one: getattr(one, "name", ""))
def test_what_an_attribute_permits(
    linalg_op: LinalgOp, attribute: TypedAttribute[Any], value: Any
) -> None:
    """None of them survives other loops; what counts of loops does not depend on operands."""
    attribute.put(linalg_op.op, value)
    assert not linalg_op.may_be_rebuilt
    permitted = attribute is attributes.VALID_EXTENTS
    assert attributes.may_read_elsewhere(linalg_op.op) is permitted


def test_an_attribute_that_nobody_knows_permits_everything(linalg_op: LinalgOp) -> None:
    """A note of another tool, say."""
    linalg_op.op.attributes["note"] = StringAttr("layer 7")
    assert linalg_op.may_be_rebuilt and attributes.may_read_elsewhere(linalg_op.op)


def test_an_attribute_of_another_type_is_a_bug(linalg_op: LinalgOp) -> None:
    """Not one that says nothing."""
    linalg_op.op.attributes["channels"] = ArrayAttr([])
    linalg_op.op.attributes["valid_extents"] = UnitAttr()
    for attribute in (attributes.CHANNELS, attributes.VALID_EXTENTS):
        with pytest.raises(CompilerBug, match="no list"):
            attribute.of(linalg_op.op)
