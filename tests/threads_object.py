"""The object code that runs threads, which models of tests share."""

from __future__ import annotations

from functools import cache

from ncc.compiler.llvm.object_code import emit_object
from ncc.compiler.llvm.threads import threads_text
from ncc.compiler.target import Target


@cache
def threads_object(target: Target) -> bytes:
    """The same in every model: LLVM makes it once."""
    return emit_object(threads_text(target), target)
