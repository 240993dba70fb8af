"""LLVM text that lays out the arena for a call: it does what `ncc.runtime.arena` does.

The lifetimes of parts are constants, their bytes are those of the call. `lay_out` needs a few words
of the stack for each part.
"""

from __future__ import annotations

from string import Template

from ncc.runtime.arena import TRIES, Lifetimes

_TEXT = """
@epochs = internal constant [$count x [2 x i64]] [$epochs], align 8

; Whether two parts are in use in the same epoch.
define internal i1 @meet(i64 %a, i64 %b) nounwind {
  %a.first.at = getelementptr [2 x i64], ptr @epochs, i64 %a
  %b.first.at = getelementptr [2 x i64], ptr @epochs, i64 %b
  %a.last.at = getelementptr i64, ptr %a.first.at, i64 1
  %b.last.at = getelementptr i64, ptr %b.first.at, i64 1
  %a.first = load i64, ptr %a.first.at, align 8
  %b.first = load i64, ptr %b.first.at, align 8
  %a.last = load i64, ptr %a.last.at, align 8
  %b.last = load i64, ptr %b.last.at, align 8
  %a.begun = icmp sle i64 %a.first, %b.last
  %b.begun = icmp sle i64 %b.first, %a.last
  %both = and i1 %a.begun, %b.begun
  ret i1 %both
}

; The most bytes that are in use at once, which is when some part begins to be.
define internal i64 @least(ptr %bytes) nounwind {
entry:
  br label %part
part:
  %n = phi i64 [ 0, %entry ], [ %n.next, %summed ]
  %most = phi i64 [ 0, %entry ], [ %more, %summed ]
  %over = icmp eq i64 %n, $count
  br i1 %over, label %done, label %sum
sum:
  %begin.at = getelementptr [2 x i64], ptr @epochs, i64 %n
  %begin = load i64, ptr %begin.at, align 8
  br label %other
other:
  %m = phi i64 [ 0, %sum ], [ %m.next, %other ]
  %total = phi i64 [ 0, %sum ], [ %total.next, %other ]
  %first.at = getelementptr [2 x i64], ptr @epochs, i64 %m
  %last.at = getelementptr i64, ptr %first.at, i64 1
  %first = load i64, ptr %first.at, align 8
  %last = load i64, ptr %last.at, align 8
  %begun = icmp sle i64 %first, %begin
  %ends = icmp sge i64 %last, %begin
  %alive = and i1 %begun, %ends
  %size.at = getelementptr i64, ptr %bytes, i64 %m
  %size = load i64, ptr %size.at, align 8
  %counted = select i1 %alive, i64 %size, i64 0
  %total.next = add i64 %total, %counted
  %m.next = add i64 %m, 1
  %others = icmp ult i64 %m.next, $count
  br i1 %others, label %other, label %summed
summed:
  %more = call i64 @llvm.smax.i64(i64 %most, i64 %total.next)
  %n.next = add i64 %n, 1
  br label %part
done:
  ret i64 %most
}

; The lowest place of a part beside the first ones of an order, which have their places.
define internal i64 @place(i64 %part, ptr %order, i64 %placed, ptr %bytes, ptr %offsets) nounwind {
entry:
  %size.at = getelementptr i64, ptr %bytes, i64 %part
  %size = load i64, ptr %size.at, align 8
  br label %again
again:
  %begin = phi i64 [ 0, %entry ], [ %other.end, %compare ]
  br label %look
look:
  %n = phi i64 [ 0, %again ], [ %n.next, %free ]
  %over = icmp uge i64 %n, %placed
  br i1 %over, label %found, label %compare
compare:
  %other.at = getelementptr i64, ptr %order, i64 %n
  %other = load i64, ptr %other.at, align 8
  %meets = call i1 @meet(i64 %part, i64 %other)
  %offset.at = getelementptr i64, ptr %offsets, i64 %other
  %taken.at = getelementptr i64, ptr %bytes, i64 %other
  %offset = load i64, ptr %offset.at, align 8
  %taken = load i64, ptr %taken.at, align 8
  %end = add i64 %begin, %size
  %other.end = add i64 %offset, %taken
  %before = icmp slt i64 %offset, %end
  %behind = icmp sgt i64 %other.end, %begin
  %overlap = and i1 %before, %behind
  %in.its.way = and i1 %overlap, %meets
  br i1 %in.its.way, label %again, label %free
free:
  %n.next = add i64 %n, 1
  br label %look
found:
  ret i64 %begin
}

; Place all parts, in an order; the bytes of all together.
define internal i64 @place_all(ptr %order, ptr %bytes, ptr %offsets) nounwind {
entry:
  br label %look
look:
  %n = phi i64 [ 0, %entry ], [ %next, %place ]
  %whole = phi i64 [ 0, %entry ], [ %more, %place ]
  %over = icmp uge i64 %n, $count
  br i1 %over, label %done, label %place
place:
  %part.at = getelementptr i64, ptr %order, i64 %n
  %part = load i64, ptr %part.at, align 8
  %offset = call i64 @place(i64 %part, ptr %order, i64 %n, ptr %bytes, ptr %offsets)
  %offset.at = getelementptr i64, ptr %offsets, i64 %part
  store i64 %offset, ptr %offset.at, align 8
  %size.at = getelementptr i64, ptr %bytes, i64 %part
  %size = load i64, ptr %size.at, align 8
  %end = add i64 %offset, %size
  %more = call i64 @llvm.smax.i64(i64 %whole, i64 %end)
  %next = add i64 %n, 1
  br label %look
done:
  ret i64 %whole
}

; Move the part at a place of an order to a place before it.
define internal void @move(ptr %order, i64 %from, i64 %to) nounwind {
entry:
  %from.at = getelementptr i64, ptr %order, i64 %from
  %part = load i64, ptr %from.at, align 8
  br label %look
look:
  %n = phi i64 [ %from, %entry ], [ %before, %shift ]
  %there = icmp eq i64 %n, %to
  br i1 %there, label %put, label %shift
shift:
  %before = sub i64 %n, 1
  %before.at = getelementptr i64, ptr %order, i64 %before
  %n.at = getelementptr i64, ptr %order, i64 %n
  %other = load i64, ptr %before.at, align 8
  store i64 %other, ptr %n.at, align 8
  br label %look
put:
  %to.at = getelementptr i64, ptr %order, i64 %to
  store i64 %part, ptr %to.at, align 8
  ret void
}

; All parts, the largest first; those of the same size in their order.
define internal void @sort(ptr %order, ptr %bytes) nounwind {
entry:
  br label %part
part:
  %n = phi i64 [ 0, %entry ], [ %next, %found ]
  %over = icmp uge i64 %n, $count
  br i1 %over, label %done, label %insert
insert:
  %n.at = getelementptr i64, ptr %order, i64 %n
  store i64 %n, ptr %n.at, align 8
  %size.at = getelementptr i64, ptr %bytes, i64 %n
  %size = load i64, ptr %size.at, align 8
  br label %look
look:
  %to = phi i64 [ %n, %insert ], [ %before, %smaller ]
  %is.first = icmp eq i64 %to, 0
  br i1 %is.first, label %found, label %compare
compare:
  %before = sub i64 %to, 1
  %before.at = getelementptr i64, ptr %order, i64 %before
  %other = load i64, ptr %before.at, align 8
  %other.at = getelementptr i64, ptr %bytes, i64 %other
  %other.size = load i64, ptr %other.at, align 8
  %is.smaller = icmp slt i64 %other.size, %size
  br i1 %is.smaller, label %smaller, label %found
smaller:
  br label %look
found:
  call void @move(ptr %order, i64 %n, i64 %to)
  %next = add i64 %n, 1
  br label %part
done:
  ret void
}

; The place in an order of the part that ends highest, the first one of several.
define internal i64 @highest(ptr %order, ptr %bytes, ptr %offsets) nounwind {
entry:
  br label %look
look:
  %n = phi i64 [ 0, %entry ], [ %next, %part ]
  %best = phi i64 [ 0, %entry ], [ %better, %part ]
  %top = phi i64 [ -1, %entry ], [ %higher, %part ]
  %over = icmp uge i64 %n, $count
  br i1 %over, label %done, label %part
part:
  %part.at = getelementptr i64, ptr %order, i64 %n
  %part.n = load i64, ptr %part.at, align 8
  %size.at = getelementptr i64, ptr %bytes, i64 %part.n
  %offset.at = getelementptr i64, ptr %offsets, i64 %part.n
  %size = load i64, ptr %size.at, align 8
  %offset = load i64, ptr %offset.at, align 8
  %end = add i64 %offset, %size
  %is.higher = icmp sgt i64 %end, %top
  %better = select i1 %is.higher, i64 %n, i64 %best
  %higher = select i1 %is.higher, i64 %end, i64 %top
  %next = add i64 %n, 1
  br label %look
done:
  ret i64 %best
}

define internal void @keep(ptr %from, ptr %to) nounwind {
entry:
  br label %look
look:
  %n = phi i64 [ 0, %entry ], [ %next, %copy ]
  %over = icmp uge i64 %n, $count
  br i1 %over, label %done, label %copy
copy:
  %from.at = getelementptr i64, ptr %from, i64 %n
  %to.at = getelementptr i64, ptr %to, i64 %n
  %word = load i64, ptr %from.at, align 8
  store i64 %word, ptr %to.at, align 8
  %next = add i64 %n, 1
  br label %look
done:
  ret void
}

define internal i64 @lay_out(ptr %bytes, ptr %offsets) nounwind {
entry:
  %order = alloca [$words x i64], align 8
  %tried = alloca [$words x i64], align 8
  %least = call i64 @least(ptr %bytes)
  call void @sort(ptr %order, ptr %bytes)
  br label %try
try:
  %n = phi i64 [ 1, %entry ], [ %next, %again ]
  %best = phi i64 [ -1, %entry ], [ %smaller, %again ]
  %whole = call i64 @place_all(ptr %order, ptr %bytes, ptr %tried)
  %is.smaller = icmp ult i64 %whole, %best
  %smaller = select i1 %is.smaller, i64 %whole, i64 %best
  br i1 %is.smaller, label %better, label %look
better:
  call void @keep(ptr %tried, ptr %offsets)
  br label %look
look:
  %is.last = icmp uge i64 %n, $tries
  %is.least = icmp eq i64 %whole, %least
  %enough = or i1 %is.last, %is.least
  br i1 %enough, label %done, label %again
again:
  %high = call i64 @highest(ptr %order, ptr %bytes, ptr %tried)
  call void @move(ptr %order, i64 %high, i64 0)
  %next = add i64 %n, 1
  br label %try
done:
  ret i64 %smaller
}
"""


def arena_text(lifetimes: Lifetimes) -> str:
    """The functions for parts with these lifetimes."""
    epochs = lifetimes.epochs
    return Template(_TEXT).substitute(
        count=len(epochs),
        words=max(1, len(epochs)),
        epochs=", ".join(f"[2 x i64] [i64 {first}, i64 {last}]" for first, last in epochs),
        tries=TRIES,
    )
