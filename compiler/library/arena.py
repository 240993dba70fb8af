"""The function that lays out the arena for a call: it does what `ncc.runtime.arena` does.

Parts of the arena have constant lifetimes, and as many bytes as the call needs. The function is
written as statements, and compiled like a kernel; `lay_out` calls it with memory of the stack.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from string import Template

from xdsl.dialects import func, memref
from xdsl.dialects.builtin import i64
from xdsl.ir import Region

from ncc.compiler.llvm.emit import emit_llvm
from ncc.compiler.llvm.lower import lower
from ncc.compiler.target import Target
from ncc.dialects.functions import module_of
from ncc.dialects.statements import Code, MemoryView, Value
from ncc.runtime.arena import TRIES, Lifetimes

_NAME = "ncc_lay_out"

_MOST = 1 << 62
"""More bytes than an arena has."""

_CALL = """
@epochs = internal constant [$count x [2 x i64]] [$epochs], align 8

declare void @$name(ptr, ptr, ptr, ptr, ptr, ptr, ptr)

define internal i64 @lay_out(ptr %bytes, ptr %offsets) nounwind {
  %order = alloca [$words x i64], align 8
  %rising = alloca [$words x i64], align 8
  %tried = alloca [$words x i64], align 8
  %whole = alloca i64, align 8
  call void @$name(ptr @epochs, ptr %bytes, ptr %order, ptr %rising, ptr %tried, ptr %offsets,
                   ptr %whole)
  %least = load i64, ptr %whole, align 8
  ret i64 %least
}
"""


def call_text(lifetimes: Lifetimes) -> str:
    """LLVM text that lays out parts with these lifetimes, and returns the bytes of all together."""
    epochs = lifetimes.epochs
    return Template(_CALL).substitute(
        name=_NAME,
        count=len(epochs),
        words=max(1, len(epochs)),
        epochs=", ".join(f"[2 x i64] [i64 {first}, i64 {last}]" for first, last in epochs),
    )


def arena_text(parts: int, target: Target) -> str:
    """LLVM text of the function for so many parts."""
    code = _statements(parts)
    block = code.operation().body.detach_block(0)
    first, *_, end = block.ops
    block.erase_op(end)
    block.add_op(func.ReturnOp())
    for scratch in block.args[len(code.results) :]:
        own = memref.AllocaOp.get(i64, shape=[1])
        block.insert_op_before(own, first)
        scratch.replace_all_uses_with(own.memref)
        block.erase_arg(scratch)
    function = func.FuncOp(_NAME, (block.arg_types, ()), Region(block))
    return emit_llvm(lower(module_of([function]), target), target)


def _statements(count: int) -> Code:
    """All parts in several orders; the offsets of the one that takes the fewest bytes."""
    each = ((count,), i64)
    code = Code([], [((count, 2), i64), each, each, each, each, each, ((1,), i64)])
    epochs, bytes, order, rising, tried, offsets, whole = code.results
    with code.range(count) as part:
        order[part] = part
        _move(code, order, part, lambda before: bytes[before] < bytes[part])
    least, tries = _least(code, epochs, bytes), code.variable(0)
    whole[0] = _MOST
    with code.while_(lambda: (tries.value < TRIES) & (whole[0] > least)):
        total, highest = code.variable(0), code.variable(0)
        with code.range(count) as place:
            part = order[place]
            tried[part] = _lowest(code, code.results, place)
            rising[place] = part
            _move(code, rising, place, lambda before: tried[before] > tried[part])
            end = tried[part] + bytes[part]
            highest.value = code.select(end > total.value, place, highest.value)
            total.value = code.maximum(end, total.value)
        with code.if_(total.value < whole[0]):
            whole[0] = total.value
            with code.range(count) as part:
                offsets[part] = tried[part]
        _move(code, order, highest.value, lambda before: before >= 0)
        tries.value = tries.value + 1
    return code


def _move(code: Code, order: MemoryView, place: Value, passes: Callable[[Value], Value]) -> None:
    """Move the part at a place of an order before those in front of it that it passes."""
    part, to = code.variable(order[place]), code.variable(place)
    with code.while_(lambda: (to.value > 0) & passes(order[code.maximum(to.value - 1, 0)])):
        order[to.value] = order[to.value - 1]
        to.value = to.value - 1
    order[to.value] = part.value


def _least(code: Code, epochs: MemoryView, bytes: MemoryView) -> Value:
    """The most bytes that are in use at once, which is when some part begins to be."""
    (count,) = bytes.shape
    most = code.variable(0)
    with code.range(count) as part:
        total = code.variable(0)
        with code.range(count) as other:
            begun, ends = epochs[other, 0] <= epochs[part, 0], epochs[other, 1] >= epochs[part, 0]
            total.value = total.value + code.select(begun & ends, bytes[other], 0)
        most.value = code.maximum(most.value, total.value)
    return most.value


def _lowest(code: Code, memory: Sequence[MemoryView], place: Value) -> Value:
    """The lowest offset of the part at a place of the order, beside those that were placed before
    it: `rising` has them by their offsets.
    """
    epochs, bytes, order, rising, tried, *_ = memory
    part, offset = order[place], code.variable(0)
    with code.range(place) as below:
        other = rising[below]
        begun, ends = epochs[part, 0] <= epochs[other, 1], epochs[other, 0] <= epochs[part, 1]
        no_gap = tried[other] < offset.value + bytes[part]
        end = code.maximum(offset.value, tried[other] + bytes[other])
        offset.value = code.select(begun & ends & no_gap, end, offset.value)
    return offset.value
