"""The memory of a network that runs, and the head of its weights.

Memory, aligned to 64:
    +0      pool (ncc.compiler.llvm.threads)
    +128    i32 busy: whether a run is under way
    +136    i64 threads
    +144    ptr to the threads that `create` has started
    +192    table of buffers, then counters, state of the threads, arena

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
from ncc.runtime.artifact import ALIGNMENT, FIRST_BUFFER, Artifact, as_bytes, counters
from ncc.runtime.threads import POOL_BYTES, state_bytes

BUSY, THREADS, STARTED, TABLE = POOL_BYTES, POOL_BYTES + 8, POOL_BYTES + 16, POOL_BYTES + 64

HEAD_BYTES = 4096
_HEAD = struct.Struct("<16s16sQ")
_MAGIC = b"ncc weights 1"


@dataclass(frozen=True)
class Layout:
    """The places of all that a network has in memory."""

    artifact: Artifact

    @property
    def counters(self) -> int:
        """The number of counters of what grows."""
        return counters(self.artifact.inputs)

    @property
    def slots(self) -> int:
        """The number of buffers in the table."""
        inputs, outputs = len(self.artifact.inputs), len(self.artifact.outputs)
        return FIRST_BUFFER + inputs + bool(self.counters) + outputs

    @property
    def counters_at(self) -> int:
        """Where the counters begin."""
        return TABLE + up(8 * self.slots, ALIGNMENT)

    @property
    def state_at(self) -> int:
        """Where the state of the threads begins."""
        return self.counters_at + up(8 * self.counters, ALIGNMENT)

    def arena_at(self, threads: int) -> int:
        """Where the arena begins."""
        return self.state_at + state_bytes(threads)

    def size(self, threads: int) -> int:
        """The size of all, a multiple of ALIGNMENT."""
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
