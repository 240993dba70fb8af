"""The object of the threads is made before any kernel is known."""

from __future__ import annotations

from pathlib import Path

from ncc.compiler.driver.cache import Cache
from ncc.compiler.driver.threads_object import make_ready, threads_key
from ncc.compiler.llvm.object_code import emit_object
from ncc.compiler.llvm.threads import threads_text
from ncc.compiler.target import Target


def test_the_cache_has_the_object(tmp_path: Path) -> None:
    """As it would be made with the kernels; a second time nothing is."""
    target, cache = Target.of("host"), Cache(tmp_path)
    for _ in range(2):
        make_ready(target, cache)
        assert cache.get(threads_key(target)) == emit_object(threads_text(target), target)
    assert len(list(tmp_path.glob("*.o"))) == 1


def test_without_a_cache_nothing_is_kept() -> None:
    """LLVM is ready all the same."""
    make_ready(Target.of("host"), None)
