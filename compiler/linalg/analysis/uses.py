"""The only producer and the only reader of a value, which a pass may fuse."""

from __future__ import annotations

from xdsl.dialects.linalg.ops import GenericOp
from xdsl.ir import SSAValue


def producer_of(value: SSAValue) -> GenericOp | None:
    """The generic that makes a value, if the value has one use."""
    owner = value.owner
    return owner if isinstance(owner, GenericOp) and value.has_one_use() else None


def reader_of(value: SSAValue) -> GenericOp | None:
    """The generic that reads a value, if the value has one use."""
    reader = value.get_user_of_unique_use()
    return reader if isinstance(reader, GenericOp) else None
