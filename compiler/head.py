"""What every compilation needs, whatever its network: LLVM ready, and the code in front of all."""

from __future__ import annotations

from ncc.compiler.kept.cache import Cache, key_of
from ncc.compiler.llvm.object_code import emit_object, load, unmap_code
from ncc.compiler.llvm.threads import threads_text
from ncc.compiler.target import Target


def head_key(target: Target) -> str:
    """What the cache keeps the head under."""
    return key_of(threads_text(), target)


def make_ready(target: Target, cache: Cache | None) -> None:
    """Load LLVM, and have the cache keep the head: the code that is in front of all kernels.

    Forks of this process need not do either. In a thread this takes next to nothing from the
    others: LLVM asks for no interpreter's lock.
    """
    load(target)
    key = head_key(target)
    if cache is not None and cache.get(key) is None:
        cache.put(key, emit_object(threads_text(), target))
        unmap_code()
