"""The parts of an arena that each run lays out: how large they are, and when they are in use.

    epoch        0         1         2
    part 0   x ..... %a .... |                 an offset that buffers of one size share, in turn
    part 1             x ... %b ... |
    part 2                       x .. %c       may lie where part 0 was

Buffers of one size with the same halos share a part if they have one offset when the arena is laid
out for the hint, and nothing lies there in between: then halos are not written again.

Needs: all steps in order, and offsets for the hint.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

from ncc.compiler.barriers import in_epochs
from ncc.compiler.linalg.memory.standing_halos import BordersOf
from ncc.compiler.plan import AnyStep, Buffer, Part, touched
from ncc.dialects.size import hint, largest


def put_into_parts(
    alive: Mapping[Buffer, tuple[int, int]], first_of: Mapping[Buffer, Buffer], borders: BordersOf
) -> None:
    """Give buffers their parts of the arena in place of their offsets.

    alive: the first and the last step that touch each. first_of: the first buffer at the offset
    that each shares.
    """
    found = dict(first_of)
    latest: dict[tuple[int, int, object], Buffer] = {}
    for buffer, (first, _) in sorted(alive.items(), key=lambda item: item[1]):
        own = borders.get(buffer)
        if own is not None:
            alike = buffer.byte_offset, buffer.bytes, own
            before = latest.get(alike, buffer)
            between = range(alive[before][1] + 1, first)
            if not any(_lies_over(other, buffer, alive[other], between) for other in alive):
                found[buffer] = found[before]
            latest[alike] = buffer
    numbers = {buffer: number for number, buffer in enumerate(dict.fromkeys(found.values()))}
    for buffer in alive:
        buffer.byte_offset, buffer.part = 0, numbers[found[buffer]]


def _lies_over(other: Buffer, buffer: Buffer, lifetime: tuple[int, int], times: range) -> bool:
    """Whether another buffer is where this one is, for the hint, at some of these times."""
    first, last = lifetime
    if last < times.start or times.stop <= first:
        return False
    gap = other.byte_offset - buffer.byte_offset
    return -hint(other.bytes) < gap < hint(buffer.bytes)


def parts_of(steps: Iterable[AnyStep], threads: int) -> Iterator[Part]:
    """The parts of the arena that steps use, in order, and their epochs."""
    sizes: dict[int, dict[int, None]] = defaultdict(dict)
    epochs: dict[int, tuple[int, int]] = {}
    for timed in in_epochs(steps, threads):
        reads, writes = touched(timed.step)
        for buffer in (*reads, *writes):
            if buffer.part is not None:
                sizes[buffer.part][buffer.byte_offset + buffer.bytes] = None
                first, _ = epochs.get(buffer.part, (timed.first, 0))
                epochs[buffer.part] = first, timed.last
    for number in range(len(sizes)):
        yield Part(largest(*sizes[number]), *epochs[number])
