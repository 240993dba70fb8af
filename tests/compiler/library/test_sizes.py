"""What the shapes of a call decide, computed by a library: the same as by the runtime."""

from __future__ import annotations

import ctypes
import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from ncc.compiler.library.error_numbers import ERANGE
from ncc.compiler.library.layout import Layout
from ncc.compiler.llvm.object_code import emit_object
from ncc.compiler.llvm.threads import threads_text
from ncc.compiler.target import Target
from ncc.runtime.arena import Lifetimes
from ncc.runtime.artifact import Artifact, Binding
from ncc.runtime.memory import Memory
from ncc.runtime.program import OPERATIONS, RELATIONS, Condition, Extent, Program
from ncc.runtime.sizes import NOWHERE, Sized, Sizes
from tests.c_programs import Library, Loaded

NOTHING = "define void @run(ptr %buffers, i64 %tid, i64 %threads, i64 %before) { ret void }"
INPUTS = (Binding("a", (-1, 3, -1)), Binding("b", (-1,), ranges=((0, 5),)))
OPEN = ((0, 0), (0, 2), (1, 0))
OUTPUTS = 9
PLACES = {name: place for place, name in enumerate(OPERATIONS)}


@cache
def objects() -> tuple[bytes, ...]:
    """Code whose runs do nothing."""
    target = Target.of("baseline")
    return tuple(emit_object(text, target) for text in (NOTHING, threads_text(target)))


def any_sizes(draw: random.Random) -> Sizes:
    """Sizes that depend in any way on three extents, by every operation and relation."""
    extents = tuple(Extent(*place, f"e{n}") for n, place in enumerate(OPEN))
    constants = (*(draw.randint(-3, 9) for _ in range(4)), 0)
    known, code = len(extents) + len(constants), list[int]()
    for n in range(40):
        name = draw.choice(tuple(OPERATIONS))
        # Products of products would soon have more than 64 bits.
        before = known if name == "*" else known + n
        code += [PLACES[name], draw.randrange(before), draw.randrange(before)]
    parts = range(known + 40, known + 52)
    for _ in parts:  # none of less than no bytes
        code += [PLACES["max"], known - 1, draw.randrange(known + 40)]
    program = Program(extents, constants, tuple(code))

    def node() -> int:
        return draw.randrange(program.nodes)

    epochs = [sorted((draw.randrange(9), draw.randrange(9))) for _ in parts]
    relations = [draw.choice(tuple(RELATIONS)) for _ in range(draw.randrange(3))]
    return Sizes(
        program,
        tuple(Condition(node(), relation) for relation in relations),
        (tuple(node() for _ in range(OUTPUTS)),),
        tuple(parts),
        Lifetimes(tuple((first, last) for first, last in epochs)),
        tuple((node(), draw.choice([NOWHERE, *range(len(parts))])) for _ in range(30)),
    )


@dataclass(frozen=True)
class Asked:
    """A library whose runs do nothing, asked for what calls decide."""

    artifact: Artifact
    loaded: Loaded

    def at(self, extents: Sequence[int]) -> Sized | int:
        """The same as `Sizes.at`, or the number of an error."""
        layout = Layout(self.artifact)
        told, shapes = (ctypes.c_int64 * 3)(*extents), (ctypes.c_int64 * OUTPUTS)()
        sizes, own = ctypes.addressof(told), layout.size(1)
        error = self.loaded.call("infer_shapes", sizes, ctypes.addressof(shapes))
        bytes = self.loaded.call("bytes", 1, sizes)
        assert bool(error) == (bytes == 0) and error in (0, ERANGE)
        memory = Memory(max(own, bytes))
        net = self.loaded.call("init", memory.address, memory.size, None, 1)
        assert self.loaded.call("run", net, sizes, *[memory.address] * 3) == error
        if error:
            return int(error)
        numbers = (ctypes.c_int64 * layout.numbers).from_buffer(memory.bytes, layout.numbers_at)
        return Sized(bytes - own, (tuple(shapes),), numbers[:])  # type: ignore[arg-type]


def shapes_of(extents: Sequence[int]) -> list[tuple[int, ...]]:
    """Those of the inputs."""
    a, b, c = extents
    return [(a, 3, b), (c,)]


@pytest.mark.parametrize("seed", range(3))
def test_any_program(seed: int, tmp_path: Path) -> None:
    """Shapes of outputs, bytes and layout of the arena, and numbers are those of Python."""
    draw = random.Random(seed)
    sizes = any_sizes(draw)
    outputs = (Binding("out", (-1,) * OUTPUTS),)
    artifact = Artifact(objects(), b"", 0, INPUTS, outputs, sizes=sizes)
    library = Library(artifact, tmp_path)
    most = min(999, *(one.most for one in library.signature.open_extents[:2]))
    asked = Asked(artifact, Loaded(tmp_path))
    right = 0
    for _ in range(60):
        extents = [draw.choice([1, 2, draw.randint(1, most)]) for _ in range(2)]
        extents.append(draw.randint(0, 5))
        expected, found = sizes.at(shapes_of(extents)), asked.at(extents)
        if isinstance(expected, str):
            assert found == ERANGE
            continue
        right += 1
        assert isinstance(found, Sized)
        assert (found.outputs, found.arena_bytes) == (expected.outputs, expected.arena_bytes)
        assert expected.numbers is not None and found.numbers == list(expected.numbers)
    assert right or sizes.conditions
    for wrong in ([0, 1, 1], [1, -1, 1], [1, 1, 6], [1, 1, -1], [1 << 40, 1, 1]):
        assert asked.at(wrong) == ERANGE
