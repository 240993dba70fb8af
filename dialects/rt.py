"""The `rt` dialect: the few operations that no other dialect has.

Between the network's entry point and the runtime:

    %m = rt.buffer %buffers[3] offset 128 : memref<3x224x224xf32>
    %r = rt.buffer %buffers[1] further %bytes : memref<8xf32>
    %done = rt.launch 56 of @k(%m) after 123, %did, %buffers, %thread, %threads, %before : (...)
    rt.barrier %done until 179, %buffers, %threads, %before
    rt.end %did until 4321, %buffers, %thread, %threads, %before

Threads count time in chunks: those of all earlier runs (`before`), plus those of earlier launches
of this run, a constant in the entry point. In a loop, `before` counts earlier iterations, too, and
the constant is that of the first iteration. Chunks whose number only the run knows count in
`before`, as soon as they are launched.

In a kernel, operations that other dialects lack:

    %r = rt.dot_bytes %sum, %x, %w : vector<64xi8> into vector<16xi32>
    %r = rt.matrix_bytes %sum, %x, %w : vector<16xi8> into vector<4xi32>
    %v = rt.gather %x[%i, %offsets] : memref<99xf32>, vector<16xi32> -> vector<16xf32>
    %n = rt.size {size = #rt.size<"h@224 * w@256">} : index
    rt.fence

Operations of layers that are loops from the start are in `code.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import (
    DenseArrayBase,
    IndexType,
    IntegerAttr,
    MemRefType,
    SymbolRefAttr,
    UnitAttr,
    VectorType,
    i32,
    i64,
)
from xdsl.dialects.llvm import LLVMPointerType
from xdsl.ir import Attribute, Dialect, Operation, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    ParsePropInAttrDict,
    VarConstraint,
    base,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import NoMemoryEffect, Pure
from xdsl.utils.exceptions import VerifyException

from ncc.dialects.attributes import SizeAttr, integer, integers, segments, symbol
from ncc.dialects.code import CODE

I64Attr = IntegerAttr.constr(type=i64)

MOST_CHUNKS = 1 << 31
"""The most chunks of a run, so that two of their indices fit a word of 64 bits."""

TRACE_WORDS = 5
"""The words of a record of a trace: step, thread, the place of the next record, begin, end."""


@irdl_op_definition
class BufferOp(IRDLOperation):
    """The memory at `buffers[index]` plus a constant number of bytes, seen as a memref; plus
    `further` bytes, if only the run knows them.

    `buffers` is the first argument of the entry point: 0 is the threads' state, 1 the arena,
    2 the packed weights, 3 the numbers of the run (`compiler/loops/launch/numbers.py`), then the
    inputs and the outputs in order.
    """

    name = "rt.buffer"

    buffers = operand_def(LLVMPointerType())
    index = prop_def(I64Attr)
    offset = prop_def(I64Attr, default_value=IntegerAttr(0, i64))
    further = opt_operand_def(IndexType())
    memref = result_def(MemRefType)

    traits = traits_def(NoMemoryEffect())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = (
        "$buffers `[` $index `]` (`offset` $offset^)? (`further` $further^)? attr-dict `:` "
        "type($memref)"
    )

    def __init__(
        self,
        buffers: SSAValue,
        index: int,
        memref_type: MemRefType,
        offset: int = 0,
        further: SSAValue | None = None,
    ) -> None:
        properties = {"index": integer(index), "offset": integer(offset)}
        Operation.__init__(
            self,
            operands=[buffers] if further is None else [buffers, further],
            properties=properties,
            result_types=[memref_type],
        )

    def verify_(self) -> None:
        if self.index.value.data < 0:
            raise VerifyException("rt.buffer: the index of a buffer is not negative")
        if self.offset.value.data < 0:
            raise VerifyException("rt.buffer: the offset in bytes is not negative")
        if any(extent < 0 for extent in self.memref.type.get_shape()[1:]):
            raise VerifyException("rt.buffer: only the outermost extent may be one of the run")


@irdl_op_definition
class LaunchOp(IRDLOperation):
    """Calls of a kernel, `callee(arguments, first, last)`, on chunks until all are taken.

        %done = rt.launch 56 of @k(%x, %y) after 123, %did, %buffers, %thread, %threads, %before
              : (memref<8xf32>, memref<8xf32>)

    Arguments are memory, or the buffers of the run, then numbers.

    The launch has so many `chunks`, and earlier launches of the run have `after`. A thread takes
    chunks until none are left, then it goes on to the next launch. The chunks from chunks * thread
    / threads up to those of the next thread are its own share. It takes half of the rest of its
    share at a time, then chunks of the other shares. Time decides which thread takes a chunk, so
    results must not depend on it. The state is `buffers[0]`. A single thread takes all chunks at
    once. With `by`, so many chunks count as one, and the last of these has the remainder.

        rt.launch 0 told(%chunks) of @k(..)         rt.launch 0 told(%units, %by, %chunks) of @k(..)

    Where only the run knows the number of chunks, it is an operand. So are, with `by`, how many
    units threads take, and the chunks of one. They are in no `after` of later launches: these
    count them in `before`.

    `done` counts the chunks that the thread has done: those before this launch, `did`, and its own
    here. `timestamp` is a buffer of i64, and the index in it that gets the time after every call; a
    launch without a kernel does only that. `trace` is a buffer of records (`TRACE_WORDS`), and the
    number of the step: for every call there is a record, at the place of its first chunk in a run.
    """

    name = "rt.launch"

    callee = opt_prop_def(SymbolRefAttr)
    chunks = prop_def(I64Attr)
    at_once = opt_prop_def(I64Attr)
    after = prop_def(I64Attr)
    timestamp = opt_prop_def(DenseArrayBase.constr(i64))
    trace = opt_prop_def(DenseArrayBase.constr(i64))
    told = var_operand_def(IndexType())
    arguments = var_operand_def(base(MemRefType) | base(LLVMPointerType) | base(IndexType))
    did = operand_def(IndexType())
    buffers = operand_def(LLVMPointerType())
    thread = operand_def(IndexType())
    threads = operand_def(IndexType())
    before = operand_def(IndexType())
    done = result_def(IndexType())

    irdl_options = (AttrSizedOperandSegments(as_property=True), ParsePropInAttrDict())
    assembly_format = (
        "$chunks (`told` `(` $told^ `)`)? (`by` $at_once^)? (`of` $callee^ `(` $arguments `)`)? "
        "`after` $after `,` $did `,` $buffers `,` $thread `,` $threads `,` $before "
        "(`timestamp` $timestamp^)? (`trace` $trace^)? attr-dict `:` `(` type($arguments) `)`"
    )

    def __init__(
        self,
        callee: str | None,
        arguments: Sequence[SSAValue],
        chunks: int,
        after: int,
        did: SSAValue,
        thread: Sequence[SSAValue],
        timestamp: tuple[int, int] | None = None,
        at_once: int = 1,
        told: Sequence[SSAValue] = (),
        trace: tuple[int, int] | None = None,
    ) -> None:
        """thread: the arguments of the entry point: buffers, thread, threads, before."""
        properties: dict[str, Attribute] = {"chunks": integer(chunks), "after": integer(after)}
        properties["operandSegmentSizes"] = segments(len(told), len(arguments), 1, 1, 1, 1, 1)
        if callee is not None:
            properties["callee"] = symbol(callee)
        if at_once > 1:
            properties["at_once"] = integer(at_once)
        if timestamp is not None:
            properties["timestamp"] = integers(timestamp)
        if trace is not None:
            properties["trace"] = integers(trace)
        operands = [*told, *arguments, did, *thread]
        Operation.__init__(
            self, operands=operands, properties=properties, result_types=[IndexType()]
        )

    @property
    def counted(self) -> int:
        """How many units threads take: chunks, or several of them with `by`; 0 if it is told."""
        at_once = 1 if self.at_once is None else self.at_once.value.data
        return -(-int(self.chunks.value.data) // int(at_once))

    def verify_(self) -> None:
        if len(self.told) not in (0, 1, 3):
            raise VerifyException("rt.launch: a run tells chunks, or units, their size, and chunks")
        if self.told and (self.chunks.value.data or self.at_once is not None):
            raise VerifyException("rt.launch: chunks are told or known, not both")
        if self.at_once is not None and self.at_once.value.data < 1:
            raise VerifyException("rt.launch: a chunk at least is taken at once")
        chunks, after = self.counted, self.after.value.data
        if chunks < 0 or after < 0 or chunks + after >= MOST_CHUNKS:
            raise VerifyException(f"rt.launch: a run has 0 to {MOST_CHUNKS - 1} chunks")
        are_numbers = [isinstance(argument.type, IndexType) for argument in self.arguments]
        if are_numbers != sorted(are_numbers):
            raise VerifyException("rt.launch: numbers stand behind memory")


@irdl_op_definition
class BarrierOp(IRDLOperation):
    """Wait until so many chunks of the run are done. Their stores are visible afterwards.

    `did` counts the chunks that the thread itself has done since its last barrier. The barrier
    waits for chunks, not for threads: a late thread finds none left and goes on. The state is
    `buffers[0]`. A single thread does not wait.
    """

    name = "rt.barrier"

    until = prop_def(I64Attr)
    did = operand_def(IndexType())
    buffers = operand_def(LLVMPointerType())
    threads = operand_def(IndexType())
    before = operand_def(IndexType())

    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$did `until` $until `,` $buffers `,` $threads `,` $before attr-dict"

    def __init__(
        self, did: SSAValue, until: int, buffers: SSAValue, threads: SSAValue, before: SSAValue
    ) -> None:
        properties = {"until": integer(until)}
        Operation.__init__(self, operands=[did, buffers, threads, before], properties=properties)


@irdl_op_definition
class EndOp(IRDLOperation):
    """The end of a run: an rt.barrier where only thread 0 waits, which is the caller's."""

    name = "rt.end"

    until = prop_def(I64Attr)
    did = operand_def(IndexType())
    buffers = operand_def(LLVMPointerType())
    thread = operand_def(IndexType())
    threads = operand_def(IndexType())
    before = operand_def(IndexType())

    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = (
        "$did `until` $until `,` $buffers `,` $thread `,` $threads `,` $before attr-dict"
    )

    def __init__(
        self,
        did: SSAValue,
        until: int,
        buffers: SSAValue,
        thread: SSAValue,
        threads: SSAValue,
        before: SSAValue,
    ) -> None:
        super().__init__(
            operands=[did, buffers, thread, threads, before],
            properties={"until": IntegerAttr(until, i64)},
        )


@irdl_op_definition
class PrefetchOp(IRDLOperation):
    """A software prefetch of the line of an element, into the second-level cache or, with `l1`,
    into the first one. No value changes.

    The address may be outside of the memref, and need not be mapped.
    """

    name = "rt.prefetch"

    memref = operand_def(MemRefType)
    index = operand_def(IndexType())
    l1 = opt_prop_def(UnitAttr)

    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$memref `[` $index `]` (`l1` $l1^)? attr-dict `:` type($memref)"


@irdl_op_definition
class FenceOp(IRDLOperation):
    """No load behind it is scheduled before it, so that vectors that were loaded before need their
    registers no longer. It is no instruction, and no value changes.
    """

    name = "rt.fence"

    assembly_format = "attr-dict"


@irdl_op_definition
class GatherOp(IRDLOperation):
    """A vector of elements at any offsets: %r[l] = %memref[%first + %offsets[l]]."""

    name = "rt.gather"

    memref = operand_def(MemRefType)
    first = operand_def(IndexType())
    offsets = operand_def(VectorType.constr(i32))
    result = result_def(VectorType)

    assembly_format = (
        "$memref `[` $first `,` $offsets `]` attr-dict"
        " `:` type($memref) `,` type($offsets) `->` type($result)"
    )

    def verify_(self) -> None:
        lanes, offsets = (v.type.get_shape() for v in (self.result, self.offsets))  # type: ignore[attr-defined]
        if lanes != offsets:
            raise VerifyException(f"{self.offsets.type} are no offsets for {self.result.type}")


@irdl_op_definition
class SizeOp(IRDLOperation):
    """A number that depends on the shapes of the network's inputs, in the body of an operation."""

    name = "rt.size"

    size = prop_def(SizeAttr)
    result = result_def(IndexType)

    traits = traits_def(Pure())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "attr-dict `:` type($result)"


@irdl_op_definition
class DotBytesOp(IRDLOperation):
    """Each lane of int32, plus four exact products of unsigned and signed bytes.

        %r[l] = %sum[l] + the sum over q < 4 of unsigned(%x[4 l + q]) * signed(%w[4 l + q])

    With `signed` the bytes of x have signs, too. A sum beyond int32 wraps around.
    """

    name = "rt.dot_bytes"

    SUMS: ClassVar = VarConstraint("SUMS", base(VectorType))
    BYTES: ClassVar = VarConstraint("BYTES", base(VectorType))

    sum = operand_def(SUMS)
    x = operand_def(BYTES)
    w = operand_def(BYTES)
    signed = opt_prop_def(UnitAttr)
    result = result_def(SUMS)

    traits = traits_def(Pure())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = (
        "$sum `,` $x `,` $w (`signed` $signed^)? attr-dict `:` type($x) `into` type($sum)"
    )

    def __init__(self, sum: SSAValue, x: SSAValue, w: SSAValue) -> None:
        super().__init__(operands=[sum, x, w], result_types=[sum.type])

    def verify_(self) -> None:
        sums, bytes = (v.type.get_shape() for v in (self.sum, self.x))  # type: ignore[attr-defined]
        if len(sums) != 1 or bytes != (4 * sums[0],):
            raise VerifyException(f"{self.x.type} has not four bytes a lane of {self.sum.type}")


@irdl_op_definition
class MatrixBytesOp(IRDLOperation):
    """Two by two int32, plus the product of 2 x 8 signed bytes and the transpose of 2 x 8.

    %r[2 i + j] = %sum[2 i + j] + the sum over q < 8 of %x[8 i + q] * %w[8 j + q]
    """

    name = "rt.matrix_bytes"

    SUMS: ClassVar = VarConstraint("SUMS", base(VectorType))
    BYTES: ClassVar = VarConstraint("BYTES", base(VectorType))

    sum = operand_def(SUMS)
    x = operand_def(BYTES)
    w = operand_def(BYTES)
    result = result_def(SUMS)

    traits = traits_def(Pure())
    assembly_format = "$sum `,` $x `,` $w attr-dict `:` type($x) `into` type($sum)"

    def verify_(self) -> None:
        sums, bytes = (v.type.get_shape() for v in (self.sum, self.x))  # type: ignore[attr-defined]
        if sums != (4,) or bytes != (16,):
            raise VerifyException(
                f"{self.x.type} into {self.sum.type} is no product of 2 x 8 bytes"
            )


_ENTRY = (BufferOp, LaunchOp, BarrierOp, EndOp)
_KERNEL = (PrefetchOp, FenceOp, GatherOp, SizeOp, DotBytesOp, MatrixBytesOp)

RT = Dialect("rt", [*_ENTRY, *_KERNEL, *CODE], [SizeAttr])
