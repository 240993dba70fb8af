"""Who alone makes a value, and who alone reads it: what can be one with the other."""

from __future__ import annotations

from xdsl.dialects.linalg.ops import GenericOp
from xdsl.ir import SSAValue


def producer_of(value: SSAValue) -> GenericOp | None:
    """The computation that makes a value for one reader alone, which reads it once."""
    owner = value.owner
    return owner if isinstance(owner, GenericOp) and value.has_one_use() else None


def reader_of(value: SSAValue) -> GenericOp | None:
    """The computation that alone reads a value, once."""
    reader = value.get_user_of_unique_use()
    return reader if isinstance(reader, GenericOp) else None
