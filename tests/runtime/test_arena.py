"""Where the buffers of a run lie: apart while both are alive, and close together."""

from __future__ import annotations

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from ncc.runtime.arena import ALIGNMENT, Lifetimes

LIFE = st.tuples(st.integers(0, 12), st.integers(0, 4), st.integers(0, 5000))


def test_memory_is_used_again() -> None:
    """A chain needs room for two neighbours, whatever its length."""
    chain = Lifetimes(tuple((n, n + 1) for n in range(20)))
    offsets, bytes = chain.laid_out([1000] * 20)
    assert bytes == 2 * 1024
    assert set(offsets) == {0, 1024}


def test_a_gap_takes_what_fits() -> None:
    """A small buffer lies between two large ones that leave room there."""
    lives = Lifetimes(((0, 9), (0, 1), (0, 9), (3, 4), (3, 4)))
    offsets, bytes = lives.laid_out([640, 448, 320, 128, 256])
    assert bytes == lives.least([640, 448, 320, 128, 256]) == 1408
    assert len(set(offsets)) == 5 - 1


def test_no_buffer_needs_no_arena() -> None:
    """Nor do those without bytes."""
    assert Lifetimes(()).laid_out([]) == ([], 0)
    assert Lifetimes(((0, 3), (1, 2))).laid_out([0, 0]) == ([0, 0], 0)


@given(st.lists(LIFE, max_size=24))
def test_buffers_that_live_together_lie_apart(lives: list[tuple[int, int, int]]) -> None:
    """At aligned offsets, inside of the arena; and the arena is not much larger than it must be."""
    epochs = tuple((first, first + more) for first, more, _ in lives)
    sizes = [size for *_, size in lives]
    lifetimes = Lifetimes(epochs)
    offsets, bytes = lifetimes.laid_out(sizes)
    ends = [offset + size for offset, size in zip(offsets, sizes, strict=True)]
    assert all(offset % ALIGNMENT == 0 for offset in offsets)
    assert all(end <= bytes for end in ends)
    for a, b in combinations(range(len(lives)), 2):
        if epochs[a][0] <= epochs[b][1] and epochs[b][0] <= epochs[a][1]:
            assert ends[a] <= offsets[b] or ends[b] <= offsets[a]
    assert lifetimes.least(sizes) <= bytes + ALIGNMENT * len(lives)
    assert lifetimes.laid_out(sizes) == (offsets, bytes)
