"""Gives every tensor of the network a subview: a strided window of some buffer.

    pad      %p = pad %v        v lives inside p's memory: the producer of v writes it there
    concat   %c = concat %a %b  a and b live inside c's memory
    reshape  collapse, expand   the same memory under other strides
    slice    extract_slice      a window of the source's memory
    loop     tiled.loop       a window that moves from iteration to iteration: of an operand for
                                an argument of the body, of a result for what the body yields
    chain    call(.. %v ..)     a kernel that goes on writing into v: the result is v's memory
    clip     extract_slice of a tiled transform: its kernels write the kept box only, in the memory
             of the slice

The first pad, concat or return that wants to own a value gets it. A value without an owner gets a
buffer of its own. A copy is inserted, and appears in the IR, where this cannot work: for two
owners, a constant in a concat, a reshape of a padded value, or a column that a code reads as
vectors. So each value has one subview.

This file only decides which buffer holds a value. `plan_memory.py` chooses the offsets of buffers
afterwards.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import accumulate

from xdsl.dialects import arith, func, tensor
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr, TensorType, i64
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, OpResult, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from ncc.compiler.diagnostics import CompilerBug
from ncc.compiler.linalg.analysis.attributes import SEPARABLE, VALID_EXTENTS
from ncc.compiler.linalg.analysis.generics import callee_of, with_bodies
from ncc.compiler.linalg.analysis.linalg_op import contiguous, outs_of, shape_of
from ncc.compiler.linalg.analysis.tensors import RESHAPES, groups_of
from ncc.compiler.linalg.memory.copying import copying
from ncc.compiler.plan import Buffer, Kind, Subview, elements_of
from ncc.dialects.attributes import values_of
from ncc.dialects.code import CodeOp
from ncc.dialects.element import dtype_of, element_of
from ncc.dialects.operation import ops_of
from ncc.dialects.size import in_full_tile
from ncc.dialects.structured import offsets_of, pad_sides
from ncc.dialects.tiled import TiledLoopOp, YieldOp
from ncc.dialects.weights.weight import ConstantOp
from ncc.runtime.artifact import DYNAMIC_HEADER

_OWNERS = (tensor.PadOp, tensor.ConcatOp, func.ReturnOp, YieldOp)
_COUNT = TensorType(i64, [1])


def element_bytes(type: Attribute) -> int:
    """Bytes of one element in memory."""
    return dtype_of(type).itemsize


def chained(module: ModuleOp) -> dict[str, int]:
    """Kernels that go on writing into an operand: function name -> position of the operand."""
    return {
        kernel: start.index
        for kernel, op in _of_kernels(module)
        if isinstance(op, GenericOp) and isinstance(start := outs_of(op), BlockArgument)
    }


def clipping(module: ModuleOp) -> set[str]:
    """Kernels that do not write elements beyond the valid extent of their result."""
    return {
        kernel
        for kernel, op in _of_kernels(module)
        if isinstance(op, GenericOp) and SEPARABLE.of(op) and VALID_EXTENTS.of(op)
    }


def written_as_loops(module: ModuleOp) -> set[str]:
    """Kernels that are codes: they read vectors along the last axis of an operand."""
    return {kernel for kernel, op in _of_kernels(module) if isinstance(op, CodeOp)}


def _of_kernels(module: ModuleOp) -> Iterator[tuple[str, Operation]]:
    """The operations of all kernels, each with the name of its kernel."""
    for function in ops_of(module.body.block):
        if isinstance(function, func.FuncOp) and function.sym_visibility is not None:
            for op in ops_of(function.body.block):
                yield function.sym_name.data, op


class Placement:
    """The subviews of all values of the network, and the copies that this took."""

    def __init__(self, module: ModuleOp, network: func.FuncOp) -> None:
        self.module = module
        self.network = network
        self.block: Block = network.body.block
        self.subviews: dict[SSAValue, Subview] = {}
        self.constants: dict[tuple[Attribute, Attribute], Subview] = {}
        self.buffers: list[Buffer] = []
        self.begins: dict[tensor.ConcatOp, list[int]] = {}  # of parts, along their axis
        self.count: Counter[Kind] = Counter()
        self._copies = 0
        while not self._claimed():
            pass
        self._place(self.block.args)
        codes = written_as_loops(module)
        for op in with_bodies(self.block):
            if isinstance(op, RESHAPES) and self._forward(op) is None:
                # Claims stay: no owner claims a value through a reshape that its memory refuses.
                self._place(self._copy(op, 0).results)
            elif isinstance(op, func.CallOp) and callee_of(op) in codes:
                for position in self._lying_apart(op):
                    self._place(self._copy(op, position).results)
            elif isinstance(op, TiledLoopOp):
                self._place(op.body.block.args)
            self._place(op.results)

    def _claimed(self) -> bool:
        """Let owners claim everything; False when a copy had to be inserted first."""
        self.chained = chained(self.module)
        self.clipping = clipping(self.module)
        self.owner: dict[SSAValue, tuple[Operation, int]] = {}
        self.makers: dict[Operation, Counter[Operation]] = {}  # of how many parts of a concat
        before = self._copies
        for op in with_bodies(self.block):
            if isinstance(op, _OWNERS) or self._is_clip(op):
                self._claim_operands(op)
            elif isinstance(op, func.CallOp) and callee_of(op) in self.chained:
                self._protect_chained(op, self.chained[callee_of(op)])
        return self._copies == before

    # --- ownership --------------------------------------------------------------------------

    def _claim_operands(self, op: Operation) -> None:
        """Let op own the values that shall live inside its result; copy what it cannot have."""
        for position, operand in enumerate(op.operands):
            base = self._base(operand, any_reshape=isinstance(op, func.ReturnOp))
            if base is None or base in self.owner or base.owner.parent is not op.parent:
                self._copy(op, position)
            else:
                self.owner[base] = (op, position)

    def _base(self, value: SSAValue, any_reshape: bool) -> SSAValue | None:
        """The value whose producer would write into the owner, or None where that cannot be."""
        while isinstance(value, OpResult):
            source = value.op
            if isinstance(source, tensor.CollapseShapeOp) or (
                any_reshape and isinstance(source, tensor.ExpandShapeOp)
            ):
                value = source.operands[0]
            elif isinstance(source, func.CallOp):
                position = self.chained.get(callee_of(source))
                if position is None:
                    return value
                value = source.operands[position]
            elif isinstance(source, tensor.PadOp | tensor.ConcatOp | TiledLoopOp):
                return value
            elif self._is_clip(source):
                return value
            else:
                return None
        return None

    def _is_clip(self, op: Operation) -> bool:
        """Whether op keeps just the box that the kernels behind it write."""
        if not isinstance(op, tensor.ExtractSliceOp) or any(n != 0 for n in offsets_of(op)):
            return False
        return self._is_clipped(op.source)

    def _is_clipped(self, value: SSAValue) -> bool:
        """Whether kernels that clip made all of a value, for one reader."""
        if not value.has_one_use():
            return False
        match value.owner:
            case tensor.CollapseShapeOp() | tensor.ConcatOp() as linalg_op:
                return all(self._is_clipped(operand) for operand in linalg_op.operands)
            case func.CallOp() as call:
                return callee_of(call) in self.clipping
            case TiledLoopOp() as loop:
                return isinstance(value, OpResult) and self._is_clipped(loop.parts[value.index])
        return False

    def _protect_chained(self, call: func.CallOp, position: int) -> None:
        """Copy an operand that a kernel overwrites while somebody else still reads it, such as the
        next iteration of a loop.
        """
        value = call.operands[position]
        constant = not isinstance(value, OpResult) or isinstance(value.op, ConstantOp)
        if constant or not value.has_one_use() or value.owner.parent is not call.parent:
            self._copy(call, position)

    def _copy(self, op: Operation, position: int) -> func.CallOp:
        """Put a copy of one operand in front of op, and of what else is made for it."""
        value = op.operands[position]
        count = _count_of(value)
        given = [value] if count is None else [value, count]
        function = copying(f"copy{self._copies}", given)
        self._copies += 1
        self.module.body.block.add_op(function)
        call = func.CallOp(function.sym_name.data, given, [copied.type for copied in given])
        call.attributes["layers"] = ArrayAttr([StringAttr(value.name_hint or "copy")])
        before = self._begun(op, value)
        Rewriter.insert_op(call, InsertPoint.before(before))
        op.operands[position] = call.results[0]
        if op in self.makers:
            self.makers[op].subtract(_makers(value))
            self.makers[op][call] = 1
        return call

    def _begun(self, op: Operation, value: SSAValue) -> Operation:
        """The first operation behind the value that makes some of what op puts together."""
        if not isinstance(op, tensor.ConcatOp):
            return op
        if op not in self.makers:
            self.makers[op] = Counter(maker for part in op.operands for maker in _makers(part))
        makers, source = self.makers[op], value.owner
        if (source.parent if isinstance(source, Operation) else source) is not op.parent:
            return op
        at = source.next_op if isinstance(source, Operation) else source.first_op
        while at is not None and at is not op and not makers[at]:
            at = at.next_op
        return at or op

    # --- subviews ---------------------------------------------------------------------------

    def _lying_apart(self, call: func.CallOp) -> Iterator[int]:
        """The operands whose neighbours along the last axis are none in memory."""
        for position, value in enumerate(call.operands):
            if self._subview(value).strides[-1:] not in ((1,), ()):
                yield position

    def _place(self, values: Sequence[SSAValue]) -> None:
        """Give values their subviews."""
        for value in values:
            self._subview(value)

    def _subview(self, value: SSAValue) -> Subview:
        """The subview of a value; those of its owners are found first, from the outermost inwards.

        Pads and concats may nest deeper than Python lets functions call one another.
        """
        nested = [value]
        while nested[-1] not in self.subviews:
            owner, position = self.owner.get(nested[-1], (None, 0))
            if owner is None or isinstance(owner, func.ReturnOp):
                break
            nested.append(_made_of(owner, position))
        for inner in reversed(nested):
            if inner not in self.subviews:
                self.subviews[inner] = self._find(inner)
        return self.subviews[value]

    def _find(self, value: SSAValue) -> Subview:
        """The subview of a value whose owner has a subview already."""
        if isinstance(value, BlockArgument):
            loop = value.block.parent_op()
            return (
                self._seen(loop, value)
                if isinstance(loop, TiledLoopOp)
                else self._root(value, Kind.INPUT)
            )
        op = value.owner
        if isinstance(op, ConstantOp | arith.ConstantOp):
            return self._constant(value, op.value)
        if isinstance(op, tensor.ExtractSliceOp) and not self._is_clip(op):
            return self._subview(op.source).moved(offsets_of(op))
        if isinstance(op, RESHAPES):
            subview = self._forward(op)
            if subview is None:
                raise CompilerBug("a reshape that needs a copy was placed before it had one")
            return subview
        if isinstance(op, func.CallOp) and callee_of(op) in self.chained:
            return self._subview(op.operands[self.chained[callee_of(op)]])
        if (rows := _rows_of(value)) is not None:
            return self._header(rows, value)
        owned = self._owned(value)
        if owned is not None and self._is_output(owned) and _count_of(value) is not None:
            owned.buffer.byte_offset = DYNAMIC_HEADER
        return owned or self._root(value, Kind.ARENA)

    def _constant(self, value: SSAValue, numbers: Attribute) -> Subview:
        """Memory for a constant, which equal ones share: two versions of a layer may read it."""
        key = numbers, value.type
        if key not in self.constants:
            self.constants[key] = self._root(value, Kind.CONSTANT)
        return self.constants[key]

    def _seen(self, loop: TiledLoopOp, argument: BlockArgument) -> Subview:
        """The window of an operand that the first iteration sees, and where the next one's is."""
        window = loop.windows[argument.index]
        whole = self._subview(window.value)
        return replace(whole, further=window.step * whole.strides[window.axis])

    def _header(self, rows: SSAValue, count: SSAValue) -> Subview:
        """The count of valid rows goes into the header of an output, and nowhere else."""
        owned = self._owned(rows)
        if owned is None or not self._is_output(owned):
            return self._root(count, Kind.ARENA)
        return self._root(count, Kind.OUTPUT, self._subview(rows).buffer.number)

    def _is_output(self, subview: Subview) -> bool:
        return subview.buffer.kind is Kind.OUTPUT

    def _owned(self, value: SSAValue) -> Subview | None:
        """Where the owner wants the value: through the reshapes between them, backwards."""
        if value not in self.owner:
            return None
        op, position = self.owner[value]
        wanted = op.operands[position]
        subview = self._inside(op, position, wanted)
        path: list[Operation] = []
        while wanted is not value:
            source = wanted.owner
            if not isinstance(source, Operation):
                raise CompilerBug("an owned value without a producer")
            path.append(source)
            chain = source.name == "func.call"
            callee = callee_of(source) if isinstance(source, func.CallOp) else ""
            wanted = source.operands[self.chained[callee] if chain else 0]
        for source in path:
            subview = self._backward(source, subview)
        return subview

    def _inside(self, op: Operation, position: int, value: SSAValue) -> Subview:
        """Where an owner wants the operand at that position, which `value` is."""
        if isinstance(op, func.ReturnOp):
            return self._root(value, Kind.OUTPUT, position)
        whole = self._subview(_made_of(op, position))
        if isinstance(op, YieldOp):
            axis = values_of(_loop_of(op).result_axes)[position]
            step = in_full_tile(shape_of(value)[axis])
            return replace(whole, further=step * whole.strides[axis])
        if isinstance(op, tensor.ExtractSliceOp):
            return whole
        if isinstance(op, tensor.PadOp):
            return whole.moved(pad_sides(op)[0])
        if not isinstance(op, tensor.ConcatOp):
            raise CompilerBug(f"{op.name} owns nothing")
        axis = op.dim.value.data
        begin = [0] * len(whole.strides)
        if op not in self.begins:
            self.begins[op] = [0, *accumulate(shape_of(x)[axis] for x in op.inputs)]
        begin[axis] = self.begins[op][position]
        return whole.moved(begin)

    def _backward(self, op: Operation, subview: Subview) -> Subview:
        """The subview of a reshape's source when its result has to be at `place`."""
        if isinstance(op, func.CallOp):
            return subview
        if isinstance(op, tensor.CollapseShapeOp):
            return _split(subview, groups_of(op), shape_of(op.src))
        return replace(subview, strides=contiguous(shape_of(op.operands[0])))

    def _forward(self, op: tensor.CollapseShapeOp | tensor.ExpandShapeOp) -> Subview | None:
        """The subview of a reshape's result; None if the source's strides do not allow it."""
        source = self._subview(op.src)
        if isinstance(op, tensor.ExpandShapeOp):
            return _split(source, groups_of(op), shape_of(op.result))
        strides: list[int] = []
        shape = shape_of(op.src)
        for group in groups_of(op):
            kept = [axis for axis in group if shape[axis] != 1] or [group[-1]]
            for outer, inner in zip(kept, kept[1:], strict=False):
                if source.strides[outer] != source.strides[inner] * shape[inner]:
                    return None
            strides.append(source.strides[kept[-1]])
        return replace(source, strides=tuple(strides))

    def _root(self, value: SSAValue, kind: Kind, number: int = 0) -> Subview:
        """Memory of its own for a value. A smaller tile has a part of the memory of a full one."""
        shape = tuple(map(in_full_tile, shape_of(value)))
        if kind is not Kind.OUTPUT:
            number = self.count[kind]
        if isinstance(value, BlockArgument):
            number = value.index
        size = element_bytes(element_of(value))
        buffer = Buffer(kind, elements_of(shape), size, number, value)
        self.buffers.append(buffer)
        self.count[kind] += 1
        return Subview(buffer, 0, contiguous(shape))


def _split(subview: Subview, groups: Sequence[Sequence[int]], shape: Sequence[int]) -> Subview:
    """A subview whose axes are each a group of axes of that shape."""
    strides = [
        stride * step
        for group, stride in zip(groups, subview.strides, strict=True)
        for step in contiguous([shape[axis] for axis in group])
    ]
    return replace(subview, strides=tuple(strides))


def _loop_of(op: YieldOp) -> TiledLoopOp:
    """The loop whose body ends with op."""
    loop = op.parent_op()
    if not isinstance(loop, TiledLoopOp):
        raise CompilerBug("a yield outside of a loop")
    return loop


def _made_of(owner: Operation, position: int) -> SSAValue:
    """The value that an owner makes of its operand at that position."""
    results = _loop_of(owner).results if isinstance(owner, YieldOp) else owner.results
    return results[position if isinstance(owner, YieldOp) else 0]


def _rows_of(value: SSAValue) -> SSAValue | None:
    """The rows that a value counts: a call makes them just before it."""
    if value.type != _COUNT or not isinstance(value, OpResult) or not value.index:
        return None
    return value.op.results[value.index - 1]


def _count_of(value: SSAValue) -> SSAValue | None:
    """The number of valid rows of a value, if only the run knows it."""
    if not isinstance(value, OpResult) or value.index + 1 >= len(value.op.results):
        return None
    behind = value.op.results[value.index + 1]
    return behind if behind.type == _COUNT else None


def _makers(value: SSAValue) -> set[Operation]:
    """The kernels that make what a value is put together of, through views and owners."""
    found: set[Operation] = set()
    passed = {value}
    waiting = [value]
    while waiting:
        source = waiting.pop().owner
        if isinstance(source, func.CallOp | TiledLoopOp):
            found.add(source)
        elif isinstance(source, (*_OWNERS, *RESHAPES)):
            new = [operand for operand in source.operands if operand not in passed]
            passed.update(new)
            waiting += new
    return found
