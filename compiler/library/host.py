"""LLVM text of the functions that take memory and threads from the C library.

They are a member of their own in a static library: a linker leaves it out, and the C library with
it, where no program calls them.

Behind the memory of a network there is a record for each thread that was started:
    ptr +0 the network    i32 +8 the number of the thread    i64 +16 its handle
"""

from __future__ import annotations

from collections.abc import Mapping
from string import Template

from ncc.compiler.library.api import with_symbols
from ncc.compiler.library.c_library import pointers_text
from ncc.compiler.library.error_numbers import ENOMEM
from ncc.compiler.library.layout import GROW, ROOM, STARTED, TABLE, THREADS
from ncc.runtime.artifact import ARENA_BUFFER

HUGE_PAGE = 2 << 20
_MADV_HUGEPAGE = 14
_RECORD_BYTES = 32

C_LIBRARY = {
    "posix_memalign": ("i32", "ptr, i64, i64"),
    "free": ("void", "ptr"),
    "madvise": ("i32", "ptr, i64, i32"),
    "pthread_create": ("i32", "ptr, ptr, ptr, ptr"),
    "pthread_join": ("i32", "i64, ptr"),
}
"""The functions that are called, with the types of results and arguments."""

_TEXT = """
$c_library
declare i64 @api.bytes(i32$sizes_type)
declare i32 @api.check(ptr, i32)
declare ptr @api.init(ptr$room_type, ptr, i32)
declare i32 @api.supported()
declare i32 @api.work(ptr, i32)
declare void @api.quit(ptr)

define internal ptr @start(ptr %record) nounwind {
  %net = load ptr, ptr %record, align 8
  %number.at = getelementptr i8, ptr %record, i64 8
  %number = load i32, ptr %number.at, align 8
  %error = call i32 @api.work(ptr %net, i32 %number)
  ret ptr null
}

; The record of a thread.
define internal ptr @record(ptr %net, i32 %number) nounwind {
  %first.at = getelementptr i8, ptr %net, i64 $started
  %first = load ptr, ptr %first.at, align 8
  %before = sub i32 %number, 1
  %wide = zext i32 %before to i64
  %offset = mul i64 %wide, $record_bytes
  %record = getelementptr i8, ptr %first, i64 %offset
  ret ptr %record
}

; Memory of so many bytes, in huge pages where these pay; null if there is none.
define internal ptr @taken(i64 %bytes) nounwind {
  %memory.at = alloca ptr, align 8
  %is.large = icmp uge i64 %bytes, $huge_page
  %alignment = select i1 %is.large, i64 $huge_page, i64 64
  %posix_memalign = load ptr, ptr @c.posix_memalign, align 8
  %error = call i32 %posix_memalign(ptr %memory.at, i64 %alignment, i64 %bytes)
  %failed = icmp ne i32 %error, 0
  br i1 %failed, label %no, label %taken
taken:
  %memory = load ptr, ptr %memory.at, align 8
  br i1 %is.large, label %advise, label %yes
advise:
  %madvise = load ptr, ptr @c.madvise, align 8
  %ignored = call i32 %madvise(ptr %memory, i64 %bytes, i32 $hugepage)
  br label %yes
yes:
  ret ptr %memory
no:
  ret ptr null
}

; Ends the threads before number %end, and gives back the memory.
define internal void @end(ptr %net, i32 %end) nounwind {
entry:
  call void @api.quit(ptr %net)
  br label %look
look:
  %n = phi i32 [ 1, %entry ], [ %next, %join ]
  %over = icmp sge i32 %n, %end
  br i1 %over, label %done, label %join
join:
  %record = call ptr @record(ptr %net, i32 %n)
  %handle.at = getelementptr i8, ptr %record, i64 16
  %handle = load i64, ptr %handle.at, align 8
  %pthread_join = load ptr, ptr @c.pthread_join, align 8
  %ignored = call i32 %pthread_join(i64 %handle, ptr null)
  %next = add i32 %n, 1
  br label %look
done:
  %free = load ptr, ptr @c.free, align 8
$free
  call void %free(ptr %net)
  ret void
}

define ptr @api.create(ptr %weights, i32 %threads) nounwind {
entry:
  %can = call i32 @api.supported()
  %cannot = icmp eq i32 %can, 0
  br i1 %cannot, label %no, label %check
check:
  %error = call i32 @api.check(ptr %weights, i32 %threads)
  %wrong = icmp ne i32 %error, 0
  br i1 %wrong, label %no, label %take
take:
  %bytes = call i64 @api.bytes(i32 %threads$no_sizes)
  %wide = zext i32 %threads to i64
  %records = mul i64 %wide, $record_bytes
  %all = add i64 %bytes, %records
  %memory = call ptr @taken(i64 %all)
  %none = icmp eq ptr %memory, null
  br i1 %none, label %no, label %init
init:
  %net = call ptr @api.init(ptr %memory$room, ptr %weights, i32 %threads)
$grows
  %first = getelementptr i8, ptr %net, i64 %bytes
  %first.at = getelementptr i8, ptr %net, i64 $started
  store ptr %first, ptr %first.at, align 8
  br label %look
look:
  %n = phi i32 [ 1, %init ], [ %next, %started ]
  %over = icmp sge i32 %n, %threads
  br i1 %over, label %yes, label %start
start:
  %record = call ptr @record(ptr %net, i32 %n)
  store ptr %net, ptr %record, align 8
  %number.at = getelementptr i8, ptr %record, i64 8
  store i32 %n, ptr %number.at, align 8
  %handle.at = getelementptr i8, ptr %record, i64 16
  %pthread_create = load ptr, ptr @c.pthread_create, align 8
  %failure = call i32 %pthread_create(ptr %handle.at, ptr null, ptr @start, ptr %record)
  %failed = icmp ne i32 %failure, 0
  br i1 %failed, label %undo, label %started
started:
  %next = add i32 %n, 1
  br label %look
yes:
  ret ptr %net
undo:
  call void @end(ptr %net, i32 %n)
  ret ptr null
no:
  ret ptr null
}

define void @api.destroy(ptr %net) nounwind {
  %none = icmp eq ptr %net, null
  br i1 %none, label %done, label %some
some:
  %threads.at = getelementptr i8, ptr %net, i64 $threads
  %threads = load i64, ptr %threads.at, align 8
  %number = trunc i64 %threads to i32
  call void @end(ptr %net, i32 %number)
  ret void
done:
  ret void
}
"""


_FREE_ARENA = """
  %arena.at = getelementptr i8, ptr %net, i64 $arena
  %arena = load ptr, ptr %arena.at, align 8
  call void %free(ptr %arena)"""

_GROWS = """
  %arena.at = getelementptr i8, ptr %net, i64 $arena
  store ptr null, ptr %arena.at, align 8
  %grow.at = getelementptr i8, ptr %net, i64 $grow
  store ptr @grow, ptr %grow.at, align 8"""

_GROW = """
; An arena of so many bytes in place of the one before; 0, or ENOMEM.
define internal i32 @grow(ptr %net, i64 %bytes) nounwind {
  %arena.at = getelementptr i8, ptr %net, i64 $arena
  %room.at = getelementptr i8, ptr %net, i64 $room
  %before = load ptr, ptr %arena.at, align 8
  %free = load ptr, ptr @c.free, align 8
  call void %free(ptr %before)
  store i64 0, ptr %room.at, align 8
  %found = call ptr @taken(i64 %bytes)
  store ptr %found, ptr %arena.at, align 8
  %none = icmp eq ptr %found, null
  br i1 %none, label %no, label %yes
yes:
  store i64 %bytes, ptr %room.at, align 8
  ret i32 0
no:
  ret i32 $ENOMEM
}
"""

_OPEN = {
    "sizes_type": ", ptr",
    "room_type": ", i64",
    "no_sizes": ", ptr null",
    "room": ", i64 %bytes",
}
"""Where a call decides the size of the arena: more arguments of functions."""


def host_text(symbols: Mapping[str, str], is_open: bool) -> str:
    """The functions that need the C library. symbols: the names in objects of all functions.

    is_open: whether a call decides the size of the arena, which is memory of its own then.
    """
    places = {"arena": TABLE + 8 * ARENA_BUFFER, "grow": GROW, "room": ROOM, "ENOMEM": ENOMEM}
    own = (_FREE_ARENA, _GROWS, _GROW) if is_open else ("", "", "")
    free, grows, grow = (Template(text).substitute(places) for text in own)
    text = Template(_TEXT).substitute(
        started=STARTED,
        threads=THREADS,
        huge_page=HUGE_PAGE,
        hugepage=_MADV_HUGEPAGE,
        record_bytes=_RECORD_BYTES,
        c_library=pointers_text(C_LIBRARY),
        free=free,
        grows=grows,
        **(_OPEN if is_open else dict.fromkeys(_OPEN, "")),
    )
    return with_symbols(text + grow, symbols)
