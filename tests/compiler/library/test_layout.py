"""The memory of a network, and the head of its weights."""

from __future__ import annotations

import struct
from dataclasses import replace

from ncc.compiler.library.layout import HEAD_BYTES, TABLE, Layout, head, head_page
from ncc.runtime.artifact import FIRST_BUFFER
from tests.c_programs import Library, Loaded
from tests.compiler.library.small_networks import Compiled, compiled


def test_parts_of_the_memory() -> None:
    """All parts are there, one behind the other, each in lines of its own."""
    layout = Layout(compiled("caches").artifact)
    inputs, outputs = len(layout.artifact.inputs), len(layout.artifact.outputs)
    assert layout.slots == FIRST_BUFFER + inputs + outputs
    assert TABLE + 8 * layout.slots <= layout.extents_at
    assert layout.extents_at + 8 * layout.extents <= layout.numbers_at
    assert layout.numbers_at + 8 * layout.numbers <= layout.state_at
    assert layout.state_at + 64 + 64 * 2 <= layout.pool_at(2)
    assert layout.pool_at(2) + 128 + 2 * 8 * (1 + layout.slots) <= layout.arena_at(2)
    assert layout.arena_at(2) + layout.artifact.arena_bytes <= layout.size(2)


def test_code_knows_the_size(library: Library) -> None:
    """The library tells the size that its header tells."""
    layout, loaded = Layout(library.artifact), Loaded(library.folder)
    header = (library.folder / "net.h").read_text()
    for threads in (1, 2):
        assert loaded.call("bytes", threads) == layout.size(threads)
    step = layout.size(2) - layout.size(1)
    assert f"#define NET_BYTES(threads) ({step} * (size_t)(threads) + {layout.size(0)})" in header


def test_the_head_of_weights(plain: Compiled) -> None:
    """It changes with the code and with the size, and not with the values."""
    model = plain.artifact
    word, code, size = struct.unpack("<16s16sQ", head(model))
    assert word.rstrip(b"\0") == b"ncc weights 1" and size == len(bytes(model.weights))
    other = replace(model, objects=(*model.objects[:-1], model.objects[-1] + b"\0"))
    assert head(other)[:16] == head(model)[:16] and head(other)[16:32] != code
    assert head(replace(model, weights=bytes(size))) == head(model)
    assert head_page(model) == head(model) + bytes(HEAD_BYTES - 40)
