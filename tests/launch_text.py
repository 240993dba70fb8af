"""LLVM text for entry points written by hand: a launch of a kernel, chunk by chunk."""

from __future__ import annotations

LAUNCH = """
declare i64 @ncc_take(ptr, i64, i64, i64, i64)
declare void @ncc_barrier(ptr, i64, i64, i64)
declare void @ncc_end(ptr, i64, i64, i64, i64)

; kernel(buffers, i, tid) for each chunk i that this thread takes; tells how many it did.
define internal i64 @launch(ptr %kernel, i64 %begin, i64 %chunks,
                            ptr %buffers, i64 %tid, i64 %threads) {
entry:
  %state = load ptr, ptr %buffers
  br label %take
take:
  %did = phi i64 [0, %entry], [%did.now, %taken]
  %both = call i64 @ncc_take(ptr %state, i64 %begin, i64 %chunks, i64 %tid, i64 %threads)
  %first = and i64 %both, 4294967295
  %last = lshr i64 %both, 32
  %none = icmp eq i64 %first, %last
  br i1 %none, label %done, label %chunk
chunk:
  %i = phi i64 [%first, %take], [%i.next, %chunk]
  call void %kernel(ptr %buffers, i64 %i, i64 %tid)
  %i.next = add i64 %i, 1
  %more = icmp ult i64 %i.next, %last
  br i1 %more, label %chunk, label %taken
taken:
  %size = sub i64 %last, %first
  %did.now = add i64 %did, %size
  br label %take
done:
  ret i64 %did
}
"""
