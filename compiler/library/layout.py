"""The memory of a network that runs, and the head of its weights.

Memory, aligned to 64:
    +0      i32 busy: whether a run is under way
    +8      i64 threads
    +16     ptr to the threads that `create` has started
    +24     i64 the bytes of the arena, if the shapes of a call decide how many it needs
    +32     ptr to the function that finds a larger one, if there is one
    +40     i64 whether extents and numbers are those of a call
    +64     table of buffers, then extents and numbers of the last call, state and pool of the
            threads, arena

Weights, aligned to 64: a head of one page, then the weights. The head tells the weights of one
network from those of others, and from those that other code reads in another order.
    +0      "ncc weights 1", zeros
    +16     the first half of a digest of the code
    +32     i64 the size of the weights, without the head
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from hashlib import sha256

from ncc.compiler.library.elf import up
from ncc.compiler.library.limits import twins
from ncc.runtime.artifact import ALIGNMENT, FIRST_BUFFER, Artifact, as_bytes
from ncc.runtime.extents import OPEN
from ncc.runtime.threads import pool_bytes, state_bytes

BUSY, THREADS, STARTED, ROOM, GROW, IS_PLANNED, TABLE = 0, 8, 16, 24, 32, 40, 64

HEAD_BYTES = 4096
_HEAD = struct.Struct("<16s16sQ")
_MAGIC = b"ncc weights 1"


@dataclass(frozen=True)
class Layout:
    """The places of all that a network has in memory."""

    artifact: Artifact

    @property
    def slots(self) -> int:
        """The number of buffers in the table."""
        inputs, outputs = len(self.artifact.inputs), len(self.artifact.outputs)
        return FIRST_BUFFER + inputs + outputs

    @property
    def numbers(self) -> int:
        """The number of numbers that depend on the shapes of a call."""
        return 0 if self.artifact.sizes is None else len(self.artifact.sizes.numbers)

    @property
    def extents(self) -> int:
        """The number of extents that a call tells."""
        count = sum(binding.shape.count(OPEN) for binding in self.artifact.inputs)
        return count - len(twins(self.artifact))

    @property
    def extents_at(self) -> int:
        """Where the extents of the last call begin."""
        return TABLE + up(8 * self.slots, ALIGNMENT)

    @property
    def numbers_at(self) -> int:
        """Where the numbers of the last call begin."""
        return self.extents_at + up(8 * self.extents, ALIGNMENT)

    @property
    def state_at(self) -> int:
        """Where the state of the threads begins."""
        return self.numbers_at + up(8 * self.numbers, ALIGNMENT)

    def pool_at(self, threads: int) -> int:
        """Where the pool begins."""
        return self.state_at + state_bytes(threads)

    def arena_at(self, threads: int) -> int:
        """Where the arena begins."""
        return self.pool_at(threads) + pool_bytes(threads, self.slots, self.numbers)

    def size(self, threads: int) -> int:
        """The size of all, a multiple of ALIGNMENT; without an arena whose size calls decide."""
        return self.arena_at(threads) + up(self.artifact.arena_bytes, ALIGNMENT)


def head(artifact: Artifact) -> bytes:
    """What the head of the weights begins with."""
    code = sha256()
    for image in artifact.objects:
        code.update(sha256(image).digest())
    size = len(as_bytes(artifact.weights))
    return _HEAD.pack(_MAGIC, code.digest()[:16], size)


def head_page(artifact: Artifact) -> bytes:
    """The head of the weights, as long as a page."""
    return head(artifact).ljust(HEAD_BYTES, b"\0")
