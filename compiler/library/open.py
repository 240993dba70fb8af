"""LLVM text of a library's functions for networks whose shapes each call decides.

A call tells the extents. A network keeps what follows from them, and computes it anew for others.
"""

from __future__ import annotations

from collections.abc import Iterator
from string import Template

from ncc.compiler.library.arena import call_text
from ncc.compiler.library.error_numbers import ENOMEM, ERANGE
from ncc.compiler.library.layout import GROW, IS_PLANNED, ROOM, Layout
from ncc.compiler.library.signature import INFER_SHAPES, Signature
from ncc.compiler.library.sizes import sizes_text

INIT_SIZES = """
  %room.at = getelementptr i8, ptr %memory, i64 $room
  %room = sub i64 %given.bytes, %bytes
  store i64 %room, ptr %room.at, align 8
  %numbers.slot = getelementptr i8, ptr %memory, i64 $slot
  %numbers = getelementptr i8, ptr %memory, i64 $numbers
  store ptr %numbers, ptr %numbers.slot, align 8
"""
"""Behind %memory there are %given.bytes, of which the network needs %bytes for itself."""

ASK_SIZES = """
  %fits = call i1 @fits(ptr %sizes)
  %wrong = xor i1 %fits, true
"""

_TEXT = """
; The bytes of the arena for these extents; -1 where the code is not for them.
define internal i64 @arena_bytes(ptr %sizes, ptr %offsets) nounwind {
  %parts = alloca [$words x i64], align 8
  %fits = call i1 @fits(ptr %sizes)
  br i1 %fits, label %yes, label %no
yes:
  call void @parts(ptr %sizes, ptr %parts)
  %bytes = call i64 @lay_out(ptr %parts, ptr %offsets)
  ret i64 %bytes
no:
  ret i64 -1
}

define i64 @api.bytes(i32 %threads, ptr %sizes) nounwind {
entry:
  %offsets = alloca [$words x i64], align 8
  %own = call i64 @own_bytes(i32 %threads)
  %none = icmp eq ptr %sizes, null
  br i1 %none, label %done, label %ask
ask:
  %arena = call i64 @arena_bytes(ptr %sizes, ptr %offsets)
  %known = icmp sge i64 %arena, 0
  %some = icmp ne i64 %own, 0
  %good = and i1 %known, %some
  %sum = add i64 %own, %arena
  %all = select i1 %good, i64 %sum, i64 0
  br label %done
done:
  %bytes = phi i64 [ %own, %entry ], [ %all, %ask ]
  ret i64 %bytes
}

; Whether the last call was for these extents.
define internal i1 @is_planned(ptr %net, ptr %sizes) nounwind {
  %planned.at = getelementptr i8, ptr %net, i64 $planned
  %planned = load i64, ptr %planned.at, align 8
  %same = icmp ne i64 %planned, 0
$same
  ret i1 %all
}

; Has the numbers and an arena for these extents; 0, or ENOMEM.
define internal i32 @prepared(ptr %net, ptr %sizes) nounwind {
  %offsets = alloca [$words x i64], align 8
  %is.planned = call i1 @is_planned(ptr %net, ptr %sizes)
  br i1 %is.planned, label %good, label %plan
plan:
  %planned.at = getelementptr i8, ptr %net, i64 $planned
  store i64 0, ptr %planned.at, align 8
  %bytes = call i64 @arena_bytes(ptr %sizes, ptr %offsets)
  %room.at = getelementptr i8, ptr %net, i64 $room
  %room = load i64, ptr %room.at, align 8
  %enough = icmp ule i64 %bytes, %room
  br i1 %enough, label %fill, label %ask
ask:
  %grow.at = getelementptr i8, ptr %net, i64 $grow
  %grow = load ptr, ptr %grow.at, align 8
  %none = icmp eq ptr %grow, null
  br i1 %none, label %bad, label %find
find:
  %error = call i32 %grow(ptr %net, i64 %bytes)
  %found = icmp eq i32 %error, 0
  br i1 %found, label %fill, label %bad
fill:
  %numbers = getelementptr i8, ptr %net, i64 $numbers
  call void @fill(ptr %sizes, ptr %offsets, ptr %numbers)
$stores
  store i64 1, ptr %planned.at, align 8
  br label %good
good:
  ret i32 0
bad:
  ret i32 $ENOMEM
}
"""

_INFER = """
define i32 @api.$infer_shapes(ptr %sizes, ptr %shapes) nounwind {
  %fits = call i1 @fits(ptr %sizes)
  br i1 %fits, label %yes, label %no
yes:
  call void @outputs(ptr %sizes, ptr %shapes)
  ret i32 0
no:
  ret i32 $ERANGE
}
"""


def open_text(signature: Signature, layout: Layout) -> str:
    """The functions of one network."""
    sizes = layout.artifact.sizes
    assert sizes is not None
    infer = _INFER if INFER_SHAPES in signature.functions else ""
    text = Template(_TEXT + infer).substitute(
        infer_shapes=INFER_SHAPES, ENOMEM=ENOMEM, ERANGE=ERANGE,
        planned=IS_PLANNED, room=ROOM, grow=GROW, numbers=layout.numbers_at,
        words=max(1, len(sizes.buffers)),
        same="\n".join(_same(layout)), stores="\n".join(_stores(layout)),
    )  # fmt: skip
    return text + sizes_text(signature) + call_text(sizes.lifetimes)


def _same(layout: Layout) -> Iterator[str]:
    """Whether all extents are those of the last call, as %all."""
    last = "%same"
    for n in range(layout.extents):
        yield f"  %given{n}.at = getelementptr i64, ptr %sizes, i64 {n}"
        yield f"  %known{n}.at = getelementptr i8, ptr %net, i64 {layout.extents_at + 8 * n}"
        yield f"  %given{n} = load i64, ptr %given{n}.at, align 8"
        yield f"  %known{n} = load i64, ptr %known{n}.at, align 8"
        yield f"  %equal{n} = icmp eq i64 %given{n}, %known{n}"
        yield f"  %so.far{n} = and i1 {last}, %equal{n}"
        last = f"%so.far{n}"
    yield f"  %all = and i1 {last}, true"


def _stores(layout: Layout) -> Iterator[str]:
    """Keep the extents."""
    for n in range(layout.extents):
        yield f"  %given{n}.at = getelementptr i64, ptr %sizes, i64 {n}"
        yield f"  %kept{n}.at = getelementptr i8, ptr %net, i64 {layout.extents_at + 8 * n}"
        yield f"  %given{n} = load i64, ptr %given{n}.at, align 8"
        yield f"  store i64 %given{n}, ptr %kept{n}.at, align 8"
