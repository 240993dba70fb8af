"""The object code that runs threads: the same in every model, and prepared early, as LLVM is."""

from __future__ import annotations

from ncc.compiler.driver.cache import Cache
from ncc.compiler.driver.keys import kernel_key
from ncc.compiler.llvm.object_code import emit_object, load, unmap_code
from ncc.compiler.llvm.threads import threads_text
from ncc.compiler.target import Target


def threads_key(target: Target) -> str:
    """What the cache keeps the object of the threads under."""
    return kernel_key(threads_text(target), target)


def make_ready(target: Target, cache: Cache | None) -> None:
    """Load LLVM, and have the cache keep the object of the threads, which every artifact begins
    with.

    Forks of this process need not do either. In a thread this takes next to nothing from the
    others: LLVM asks for no interpreter's lock.
    """
    load(target)
    key = threads_key(target)
    if cache is not None and cache.get(key) is None:
        cache.put(key, emit_object(threads_text(target), target))
        unmap_code()
