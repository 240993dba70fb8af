"""The `rt` dialect: the few operations that only ncc needs, because no other dialect says them.

Between the network's entry point and the runtime:

    %m = rt.buffer %buffers[3] offset 128 : memref<3x224x224xf32>
    %first, %last = rt.take 56 after 123, %buffers, %thread, %threads, %before
    rt.barrier %did until 179, %buffers, %threads, %before
    rt.end %did until 4321, %buffers, %thread, %threads, %before

The time of threads is a number of chunks: how many there were in all runs before (`before`), and in
the launches of this run before a point, which is known when the entry point is written.

In a kernel, what other dialects have no operation for:

    %r = rt.dot_bytes %sum, %x, %w : vector<64xi8> into vector<16xi32>

Between the layers and the loops, a computation that is written as loops from the start:

    %y = rt.code(%x) {
    ^bb0(%source: memref<8xf32>, %result: memref<8xf32>):
      rt.lanes %first to %last {
      ^bb0(%i: index):
        ...
      }
      rt.yield
    } : (tensor<8xf32>) -> tensor<8xf32>
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import (
    ArrayAttr,
    Float32Type,
    FunctionType,
    IndexType,
    IntegerAttr,
    IntegerType,
    MemRefType,
    StringAttr,
    TensorType,
    VectorType,
    i64,
)
from xdsl.dialects.llvm import LLVMPointerType
from xdsl.ir import Attribute, Block, Dialect, Operation, Region, SSAValue
from xdsl.irdl import (
    BaseAttr,
    IRDLOperation,
    ParsePropInAttrDict,
    VarConstraint,
    base,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import (
    HasParent,
    IsolatedFromAbove,
    IsTerminator,
    NoMemoryEffect,
    NoTerminator,
    Pure,
)
from xdsl.utils.exceptions import VerifyException

I64Attr = IntegerAttr.constr(type=i64)

MOST_CHUNKS = 1 << 31
"""Of a run, so that two numbers of chunks share a word of 64 bits."""


@irdl_op_definition
class BufferOp(IRDLOperation):
    """The memory at `buffers[index]` plus a constant number of bytes, seen as a memref.

    `buffers` is the first argument of the entry point: 0 is the threads' state, 1 the arena,
    2 the packed weights, then the inputs and the outputs in order.
    """

    name = "rt.buffer"

    buffers = operand_def(LLVMPointerType())
    index = prop_def(I64Attr)
    offset = prop_def(I64Attr, default_value=IntegerAttr(0, i64))
    memref = result_def(MemRefType)

    traits = traits_def(NoMemoryEffect())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$buffers `[` $index `]` (`offset` $offset^)? attr-dict `:` type($memref)"

    def __init__(
        self, buffers: SSAValue, index: int, memref_type: MemRefType, offset: int = 0
    ) -> None:
        super().__init__(
            operands=[buffers],
            properties={
                "index": IntegerAttr(index, i64),
                "offset": IntegerAttr(offset, i64),
            },
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
class TakeOp(IRDLOperation):
    """Chunks of a launch that nobody has taken yet; they are the taker's to do. None: first = last.

    The launch has `extent` chunks, and those before it in the run have `after`. Every thread takes
    until there are none before it goes on to the next launch. The chunks from
    extent * thread / threads up to the next thread's are a thread's own share, which it takes
    first, a quarter of what is left at a time; then it takes from the others' shares. Who takes
    what is left to time, so chunks must not depend on it. Its state is `buffers[0]`. One thread
    takes all at once.
    """

    name = "rt.take"

    extent = prop_def(I64Attr)
    after = prop_def(I64Attr)
    buffers = operand_def(LLVMPointerType())
    thread = operand_def(IndexType())
    threads = operand_def(IndexType())
    before = operand_def(IndexType())
    first = result_def(IndexType())
    last = result_def(IndexType())

    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = (
        "$extent `after` $after `,` $buffers `,` $thread `,` $threads `,` $before attr-dict"
    )

    def __init__(
        self,
        extent: int,
        after: int,
        buffers: SSAValue,
        thread: SSAValue,
        threads: SSAValue,
        before: SSAValue,
    ) -> None:
        super().__init__(
            operands=[buffers, thread, threads, before],
            properties={
                "extent": IntegerAttr(extent, i64),
                "after": IntegerAttr(after, i64),
            },
            result_types=[IndexType(), IndexType()],
        )

    def verify_(self) -> None:
        extent, after = self.extent.value.data, self.after.value.data
        if extent < 0 or after < 0 or extent + after >= MOST_CHUNKS:
            raise VerifyException(f"rt.take: a run has 0 to {MOST_CHUNKS - 1} chunks")


@irdl_op_definition
class BarrierOp(IRDLOperation):
    """Wait until so many chunks of the run are done; what they stored is seen from here on.

    `did` is how many chunks the thread has done itself since its last barrier. Nobody waits for
    threads: one that comes when all is done finds all taken and goes on. Its state is
    `buffers[0]`. Nothing happens when there is one thread.
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
        super().__init__(
            operands=[did, buffers, threads, before], properties={"until": IntegerAttr(until, i64)}
        )


@irdl_op_definition
class EndOp(IRDLOperation):
    """The end of a run: an rt.barrier at which only thread 0, the caller's, waits."""

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
    """A hint that an element will be read soon: its line may be brought near, nothing changes.

    The address need not be inside the memref, nor be mapped at all.
    """

    name = "rt.prefetch"

    memref = operand_def(MemRefType)
    index = operand_def(IndexType())

    assembly_format = "$memref `[` $index `]` attr-dict `:` type($memref)"


@irdl_op_definition
class DotBytesOp(IRDLOperation):
    """Each lane of int32, and four products of bytes: unsigned ones by signed ones, exactly.

        %r[l] = %sum[l] + the sum over q < 4 of unsigned(%x[4 l + q]) * signed(%w[4 l + q])

    Where the exact sum leaves int32 it wraps around.
    """

    name = "rt.dot_bytes"

    SUMS: ClassVar = VarConstraint("SUMS", base(VectorType))
    BYTES: ClassVar = VarConstraint("BYTES", base(VectorType))

    sum = operand_def(SUMS)
    x = operand_def(BYTES)
    w = operand_def(BYTES)
    result = result_def(SUMS)

    traits = traits_def(Pure())
    assembly_format = "$sum `,` $x `,` $w attr-dict `:` type($x) `into` type($sum)"

    def __init__(self, sum: SSAValue, x: SSAValue, w: SSAValue) -> None:
        super().__init__(operands=[sum, x, w], result_types=[sum.type])

    def verify_(self) -> None:
        sums, bytes = (v.type.get_shape() for v in (self.sum, self.x))  # type: ignore[attr-defined]
        if len(sums) != 1 or bytes != (4 * sums[0],):
            raise VerifyException(f"{self.x.type} does not fall into fours for {self.sum.type}")


@irdl_op_definition
class CodeOp(IRDLOperation):
    """A computation that no `linalg.generic` can say (suppression, recurrences), as loops.

    The region's arguments are memrefs: first those of the operands (read only), then those of
    the results (undefined at entry, to be filled), then the scratch memory that the property
    `scratch` lists. The region sees nothing else of what surrounds it, and ends in `rt.yield`.

    With `turns` n the region runs n times, in any order or at the same time: its last argument is
    the number of the turn, an index, and no turn touches what another one writes.
    """

    name = "rt.code"

    inputs = var_operand_def(TensorType)
    outputs = var_result_def(TensorType)
    scratch = opt_prop_def(ArrayAttr[MemRefType])
    turns = opt_prop_def(I64Attr)
    body = region_def("single_block")

    traits = traits_def(Pure(), IsolatedFromAbove())

    def __init__(
        self,
        inputs: Sequence[SSAValue | Operation],
        result_types: Sequence[TensorType],
        body: Region | None = None,
        scratch: Sequence[MemRefType] = (),
        turns: int | None = None,
    ) -> None:
        """Without a body, an empty block with the right arguments is made, to be filled."""
        values = [SSAValue.get(value) for value in inputs]
        if body is None:
            shaped = [value.type for value in values] + list(result_types)
            memrefs = [
                MemRefType(type.get_element_type(), type.get_shape())
                for type in shaped
                if isinstance(type, TensorType)
            ]
            number = [] if turns is None else [IndexType()]
            body = Region(Block(arg_types=[*memrefs, *scratch, *number]))
        properties: dict[str, Attribute] = {}
        if scratch:
            properties["scratch"] = ArrayAttr(scratch)
        if turns is not None:
            properties["turns"] = IntegerAttr(turns, i64)
        super().__init__(
            operands=[values], result_types=[result_types], properties=properties, regions=[body]
        )

    def verify_(self) -> None:
        arguments = [argument.type for argument in self.body.block.args]
        if self.turns is not None:
            if self.turns.value.data < 1:
                raise VerifyException("rt.code: it runs once or more often")
            if not arguments or not isinstance(arguments.pop(), IndexType):
                raise VerifyException("rt.code: the number of the turn is its last argument")
        tensors = [*self.operand_types, *self.result_types]
        scratch = list(self.scratch) if self.scratch is not None else []
        if len(arguments) != len(tensors) + len(scratch):
            raise VerifyException(
                f"rt.code: the region has {len(arguments)} arguments, expected {len(tensors)} for "
                f"operands and results and {len(scratch)} for scratch memory"
            )
        for position, (argument, tensor) in enumerate(zip(arguments, tensors, strict=False)):
            assert isinstance(tensor, TensorType)
            if (
                not isinstance(argument, MemRefType)
                or argument.get_shape() != tensor.get_shape()
                or argument.element_type != tensor.element_type
            ):
                raise VerifyException(
                    f"rt.code: argument {position} of the region is {argument}, expected the "
                    f"memref of {tensor}"
                )
        for argument, expected in zip(arguments[len(tensors) :], scratch, strict=True):
            if argument != expected:
                raise VerifyException(
                    f"rt.code: scratch memory is {argument} in the region and {expected} outside"
                )
        if not isinstance(self.body.block.last_op, YieldOp):
            raise VerifyException("rt.code: the region ends in rt.yield")

    def print(self, printer: Printer) -> None:
        with printer.in_parens():
            printer.print_list(self.inputs, printer.print_ssa_value)
        if self.scratch is not None:
            printer.print_string(" scratch ")
            printer.print_attribute(self.scratch)
        if self.turns is not None:
            printer.print_string(f" turns {self.turns.value.data}")
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" ")
        printer.print_region(self.body)
        printer.print_string(" : ")
        printer.print_function_type(self.operand_types, self.result_types)

    @classmethod
    def parse(cls, parser: Parser) -> CodeOp:
        position = parser.pos
        inputs = parser.parse_comma_separated_list(
            Parser.Delimiter.PAREN, parser.parse_unresolved_operand
        )
        properties: dict[str, Attribute] = {}
        if parser.parse_optional_keyword("scratch"):
            properties["scratch"] = parser.parse_attribute()
        if parser.parse_optional_keyword("turns"):
            properties["turns"] = IntegerAttr(parser.parse_integer(), i64)
        attributes = parser.parse_optional_attr_dict_with_keyword()
        body = parser.parse_region()
        parser.parse_punctuation(":")
        function_type = parser.parse_type()
        if not isinstance(function_type, FunctionType):
            parser.raise_error("expected a function type", at_position=position)
        return cls.create(
            operands=parser.resolve_operands(inputs, function_type.inputs.data, position),
            result_types=function_type.outputs.data,
            properties=properties,
            attributes=attributes.data if attributes is not None else {},
            regions=[body],
        )


@irdl_op_definition
class LanesOp(IRDLOperation):
    """A loop of an `rt.code` whose turns know nothing of each other: lanes of vectors may run them.

    Its body is straight: arithmetic, reads of one element at places that are the same for all turns
    or whose last one moves with the turn, writes at places whose last one moves with it.
    """

    name = "rt.lanes"

    first = operand_def(IndexType())
    last = operand_def(IndexType())
    body = region_def("single_block")

    traits = traits_def(NoTerminator())
    assembly_format = "$first `to` $last $body attr-dict"

    def __init__(self, first: SSAValue, last: SSAValue, body: Block) -> None:
        super().__init__(operands=[first, last], regions=[Region(body)])

    def verify_(self) -> None:
        if [type(argument.type) for argument in self.body.block.args] != [IndexType]:
            raise VerifyException("rt.lanes: the region's argument is the number of the lane")
        if any(op.regions for op in self.body.block.ops):
            raise VerifyException("rt.lanes: the region has no loops or branches")


FOLDS = ("add", "max")
"""How `rt.fold` combines: sums, in any order; the largest, the other one where one is NaN."""


@irdl_op_definition
class FoldOp(IRDLOperation):
    """`initial` and what the turns of a loop hand over, combined in any order.

    Its body is that of an `rt.lanes` that writes nothing, and ends in `rt.hand`:

        %dot = rt.fold "add" from %zero, %first to %last {
        ^bb0(%i: index):
          ...
          rt.hand %product : f32
        } : f32
    """

    name = "rt.fold"

    combine = prop_def(StringAttr)
    initial = operand_def(Float32Type())
    first = operand_def(IndexType())
    last = operand_def(IndexType())
    body = region_def("single_block")
    result = result_def(Float32Type())

    assembly_format = (
        "$combine `from` $initial `,` $first `to` $last $body attr-dict `:` type($result)"
    )

    def __init__(
        self, combine: str, initial: SSAValue, first: SSAValue, last: SSAValue, body: Block
    ) -> None:
        super().__init__(
            operands=[initial, first, last],
            properties={"combine": StringAttr(combine)},
            result_types=[initial.type],
            regions=[Region(body)],
        )

    def verify_(self) -> None:
        if self.combine.data not in FOLDS:
            raise VerifyException(f"rt.fold: {self.combine.data} is none of {', '.join(FOLDS)}")
        if [type(argument.type) for argument in self.body.block.args] != [IndexType]:
            raise VerifyException("rt.fold: the region's argument is the number of the lane")
        if any(op.regions for op in self.body.block.ops):
            raise VerifyException("rt.fold: the region has no loops or branches")
        if not isinstance(self.body.block.last_op, HandOp):
            raise VerifyException("rt.fold: the region ends in rt.hand")


@irdl_op_definition
class HandOp(IRDLOperation):
    """What a turn of an `rt.fold` has computed."""

    name = "rt.hand"

    value = operand_def(Float32Type())

    traits = traits_def(IsTerminator(), Pure(), HasParent(FoldOp))
    assembly_format = "$value attr-dict `:` type($value)"

    def __init__(self, value: SSAValue) -> None:
        super().__init__(operands=[value])


@irdl_op_definition
class DotOp(IRDLOperation):
    """Two products of int16, added: of the low halves of two i32, and of their high halves.

    Also of vectors of i32, lane by lane.
    """

    name = "rt.dot"

    T: ClassVar = VarConstraint("T", BaseAttr(IntegerType) | BaseAttr(VectorType))

    a = operand_def(T)
    b = operand_def(T)
    result = result_def(T)

    traits = traits_def(Pure())
    assembly_format = "$a `,` $b attr-dict `:` type($result)"

    def __init__(self, a: SSAValue, b: SSAValue) -> None:
        super().__init__(operands=[a, b], result_types=[a.type])


@irdl_op_definition
class YieldOp(IRDLOperation):
    """The end of the region of an `rt.code`: the results are in their memrefs."""

    name = "rt.yield"

    traits = traits_def(IsTerminator(), Pure(), HasParent(CodeOp))
    assembly_format = "attr-dict"

    def __init__(self) -> None:
        super().__init__()


_OF_CODE: list[type[Operation]] = [CodeOp, LanesOp, FoldOp, HandOp, DotOp, YieldOp]
RT = Dialect("rt", [BufferOp, TakeOp, BarrierOp, EndOp, PrefetchOp, DotBytesOp, *_OF_CODE])
