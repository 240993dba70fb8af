"""LLVM text of the functions that need no C library: memory and threads are the caller's.

`ncc.compiler.library.header` says what they do. `@api.` stands before the names of functions that
a header declares.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Mapping
from string import Template

from ncc.compiler.library.error_numbers import EBUSY, EINVAL, ERANGE
from ncc.compiler.library.layout import BUSY, HEAD_BYTES, ROOM, TABLE, THREADS, Layout, head
from ncc.compiler.library.open import ASK_SIZES, INIT_SIZES, open_text
from ncc.compiler.library.signature import Signature
from ncc.runtime.artifact import (
    ARENA_BUFFER,
    FIRST_BUFFER,
    NUMBERS_BUFFER,
    STATE_BUFFER,
    WEIGHTS_BUFFER,
)
from ncc.runtime.threads import POOL_BUFFERS, POOL_NUMBERS, POOL_THREADS

WEIGHTS_SYMBOL = "ncc_weights"
"""The weights in the library, if there are any."""

_CHECKS = """
$own_weights
@head = internal constant [$head_words x i64] [$head], align 8

; The bytes of a network, but for an arena whose size a call decides.
define internal i64 @own_bytes(i32 %threads) nounwind {
  %less = sub i32 %threads, 1
  %wrong = icmp uge i32 %less, $most_threads
  %wide = zext i32 %threads to i64
  %lines = mul i64 %wide, $thread_bytes
  %all = add i64 %lines, $bytes
  %bytes = select i1 %wrong, i64 0, i64 %all
  ret i64 %bytes
}

; The weights behind their head; null for those of another network.
define internal ptr @weights_of(ptr %given) nounwind {
entry:
  %is.own = icmp eq ptr %given, null
  %head = select i1 %is.own, ptr $own, ptr %given
  %address = ptrtoint ptr %head to i64
  %low = and i64 %address, 63
  %aligned = icmp eq i64 %low, 0
  %given.some = icmp ne ptr %head, null
  %readable = and i1 %aligned, %given.some
  br i1 %readable, label %look, label %no
look:
  %n = phi i64 [ 0, %entry ], [ %next, %same ]
  %at = getelementptr i64, ptr %head, i64 %n
  %known.at = getelementptr i64, ptr @head, i64 %n
  %word = load i64, ptr %at, align 8
  %known = load i64, ptr %known.at, align 8
  %equal = icmp eq i64 %word, %known
  br i1 %equal, label %same, label %no
same:
  %next = add i64 %n, 1
  %more = icmp ult i64 %next, $head_words
  br i1 %more, label %look, label %yes
yes:
  %weights = getelementptr i8, ptr %head, i64 $head_bytes
  ret ptr %weights
no:
  ret ptr null
}

define i32 @api.check(ptr %given, i32 %threads) nounwind {
  %bytes = call i64 @own_bytes(i32 %threads)
  %weights = call ptr @weights_of(ptr %given)
  %wrong.threads = icmp eq i64 %bytes, 0
  %wrong.weights = icmp eq ptr %weights, null
  %weights.error = select i1 %wrong.weights, i32 $EINVAL, i32 0
  %error = select i1 %wrong.threads, i32 $ERANGE, i32 %weights.error
  ret i32 %error
}
"""

_INIT = """
; The pool of a network, behind the state of so many threads.
define internal ptr @pool_of(ptr %net) nounwind {
  %threads.at = getelementptr i8, ptr %net, i64 $threads
  %threads = load i64, ptr %threads.at, align 8
  %lines = mul i64 %threads, $state_bytes
  %offset = add i64 %lines, $pool
  %pool = getelementptr i8, ptr %net, i64 %offset
  ret ptr %pool
}

define ptr @api.init(ptr %memory$room, ptr %given, i32 %threads) nounwind {
entry:
  %error = call i32 @api.check(ptr %given, i32 %threads)
  %bytes = call i64 @own_bytes(i32 %threads)
  %address = ptrtoint ptr %memory to i64
  %low = and i64 %address, 63
  %aligned = icmp eq i64 %low, 0
  %some = icmp ne ptr %memory, null
  %fits = icmp eq i32 %error, 0
  %usable = and i1 %aligned, %some
  %right = and i1 %usable, %fits
$enough
  %good = and i1 %right, %enough
  br i1 %good, label %clear, label %no
clear:
  %at = phi i64 [ 0, %entry ], [ %next, %clear ]
  %line = getelementptr i8, ptr %memory, i64 %at
  store <8 x i64> zeroinitializer, ptr %line, align 64
  %next = add i64 %at, 64
  %more = icmp ult i64 %next, %bytes
  br i1 %more, label %clear, label %fill
fill:
  %weights = call ptr @weights_of(ptr %given)
  %wide = zext i32 %threads to i64
  %threads.at = getelementptr i8, ptr %memory, i64 $threads
  store i64 %wide, ptr %threads.at, align 8
  %pool = call ptr @pool_of(ptr %memory)
  %pool.threads = getelementptr i8, ptr %pool, i64 $pool_threads
  store i64 %wide, ptr %pool.threads, align 8
  %pool.buffers = getelementptr i8, ptr %pool, i64 $pool_buffers
  store i64 $slots, ptr %pool.buffers, align 8
  %pool.numbers = getelementptr i8, ptr %pool, i64 $pool_numbers
  store i64 $numbers, ptr %pool.numbers, align 8
  %state = getelementptr i8, ptr %memory, i64 $state
  %lines = mul i64 %wide, $thread_bytes
  %arena.at = add i64 %lines, $arena
  %arena = getelementptr i8, ptr %memory, i64 %arena.at
  %state.slot = getelementptr i8, ptr %memory, i64 $state_slot
  store ptr %state, ptr %state.slot, align 8
  %arena.slot = getelementptr i8, ptr %memory, i64 $arena_slot
  store ptr %arena, ptr %arena.slot, align 8
  %weights.slot = getelementptr i8, ptr %memory, i64 $weights_slot
  store ptr %weights, ptr %weights.slot, align 8
$sized
  ret ptr %memory
no:
  ret ptr null
}
"""

_RUN = """
declare void @ncc_run_alone(ptr)
declare void @ncc_launch(ptr, ptr)

define i32 @api.run(ptr %net$arguments) nounwind {
entry:
$asked
  br i1 %wrong, label %refuse, label %ask
ask:
  %busy = getelementptr i8, ptr %net, i64 $busy
  %swap = cmpxchg ptr %busy, i32 0, i32 1 acquire monotonic
  %is.free = extractvalue { i32, i1 } %swap, 1
  br i1 %is.free, label %go, label %later
go:
$prepared
  %ready = icmp eq i32 %error, 0
  br i1 %ready, label %set, label %done
set:
$stores
  %table = getelementptr i8, ptr %net, i64 $table
  %threads.at = getelementptr i8, ptr %net, i64 $threads
  %threads = load i64, ptr %threads.at, align 8
  %alone = icmp eq i64 %threads, 1
  br i1 %alone, label %one, label %many
one:
  call void @ncc_run_alone(ptr %table)
  br label %done
many:
  %pool = call ptr @pool_of(ptr %net)
  call void @ncc_launch(ptr %pool, ptr %table)
  br label %done
done:
  store atomic i32 0, ptr %busy release, align 4
  ret i32 %error
later:
  ret i32 $EBUSY
refuse:
  ret i32 $refused
}
"""

_FIXED = """
define i64 @api.bytes(i32 %threads) nounwind {
  %bytes = call i64 @own_bytes(i32 %threads)
  ret i64 %bytes
}
"""

_WORK = """
declare void @ncc_worker(ptr, i64)
declare void @ncc_stop(ptr)

define i32 @api.work(ptr %net, i32 %thread) nounwind {
  %threads.at = getelementptr i8, ptr %net, i64 $threads
  %threads = load i64, ptr %threads.at, align 8
  %others = sub i64 %threads, 1
  %wide = sext i32 %thread to i64
  %number = sub i64 %wide, 1
  %good = icmp ult i64 %number, %others
  br i1 %good, label %work, label %wrong
work:
  %pool = call ptr @pool_of(ptr %net)
  call void @ncc_worker(ptr %pool, i64 %wide)
  ret i32 0
wrong:
  ret i32 $EINVAL
}

define void @api.quit(ptr %net) nounwind {
  %pool = call ptr @pool_of(ptr %net)
  call void @ncc_stop(ptr %pool)
  ret void
}
"""


def api_text(signature: Signature, embedded: bool, symbols: Mapping[str, str]) -> str:
    """The functions that need no C library. symbols: their names in objects."""
    artifact = signature.artifact
    layout, words = Layout(artifact), head(artifact)
    slot = {n: TABLE + 8 * n for n in (STATE_BUFFER, ARENA_BUFFER, WEIGHTS_BUFFER)}
    own = f"@{WEIGHTS_SYMBOL} = external dso_local constant i8, align {HEAD_BYTES}"
    numbers = struct.unpack(f"<{len(words) // 8}q", words)
    host = _open_parts(layout) if signature.is_open else _fixed_parts(layout)
    text = Template(_CHECKS + _INIT + _RUN + _WORK).substitute(
        EBUSY=EBUSY,
        busy=BUSY, threads=THREADS, table=TABLE,
        EINVAL=EINVAL, ERANGE=ERANGE,
        pool_threads=POOL_THREADS, pool_buffers=POOL_BUFFERS, pool_numbers=POOL_NUMBERS,
        slots=layout.slots, numbers=layout.numbers,
        pool=layout.pool_at(0), state_bytes=layout.pool_at(1) - layout.pool_at(0),
        own_weights=own if embedded else "", own=f"@{WEIGHTS_SYMBOL}" if embedded else "null",
        head=", ".join(f"i64 {n}" for n in numbers), head_words=len(numbers),
        head_bytes=HEAD_BYTES, most_threads=artifact.threads,
        bytes=layout.size(0), thread_bytes=layout.size(1) - layout.size(0),
        state=layout.state_at, arena=layout.arena_at(0),
        state_slot=slot[STATE_BUFFER], arena_slot=slot[ARENA_BUFFER],
        weights_slot=slot[WEIGHTS_BUFFER],
        arguments="".join(f", {one}" for one in _arguments(layout)),
        stores="\n".join(_stores(layout)),
        **host,
    )  # fmt: skip
    text += _FIXED if artifact.sizes is None else open_text(signature, layout)
    return with_symbols(text, symbols)


def _fixed_parts(layout: Layout) -> Mapping[str, object]:
    """What is of networks whose shapes are known."""
    return {
        "room": "",
        "enough": "  %enough = and i1 true, true",
        "sized": "",
        "asked": "  %wrong = and i1 false, false",
        "refused": EINVAL,
        "prepared": "  %error = add i32 0, 0",
    }


def _open_parts(layout: Layout) -> Mapping[str, object]:
    """What is of networks whose shapes each call decides (`open.py`)."""
    return {
        "room": ", i64 %given.bytes",
        "enough": "  %enough = icmp uge i64 %given.bytes, %bytes",
        "sized": Template(INIT_SIZES).substitute(
            room=ROOM, slot=TABLE + 8 * NUMBERS_BUFFER, numbers=layout.numbers_at
        ),
        "asked": ASK_SIZES,
        "refused": ERANGE,
        "prepared": "  %error = call i32 @prepared(ptr %net, ptr %sizes)",
    }


def with_symbols(text: str, symbols: Mapping[str, str]) -> str:
    """The text with the names in objects of the functions that a header declares."""
    return re.sub(r"@api\.(\w+)", lambda found: f"@{symbols[found[1]]}", text)


def _arguments(layout: Layout) -> Iterator[str]:
    """What `run` takes: extents, inputs, outputs."""
    if layout.artifact.sizes is not None:
        yield "ptr %sizes"
    yield from (f"ptr %input{n}" for n in range(len(layout.artifact.inputs)))
    yield from (f"ptr %output{n}" for n in range(len(layout.artifact.outputs)))


def _stores(layout: Layout) -> Iterator[str]:
    """Write what `run` takes to the table."""
    buffers = [f"%input{n}" for n in range(len(layout.artifact.inputs))]
    buffers += [f"%output{n}" for n in range(len(layout.artifact.outputs))]
    for n, buffer in enumerate(buffers, FIRST_BUFFER):
        yield f"  %slot{n} = getelementptr i8, ptr %net, i64 {TABLE + 8 * n}"
        yield f"  store ptr {buffer}, ptr %slot{n}, align 8"
