"""How LLVM spells the operations of the llvm dialect.

One pass over the operations, strings only: a table says how each instruction is written. Constants
are spelled where they are used, and blocks with arguments become phis.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from xdsl.dialects import llvm
from xdsl.dialects.builtin import (
    BFloat16Type,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    Float16Type,
    Float32Type,
    Float64Type,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    StringAttr,
    VectorType,
    i1,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ncc.compiler.diagnostics import CompilerBug
from ncc.compiler.llvm.build import suffix
from ncc.compiler.llvm.instructions import (
    ExtractElementOp,
    FCmpOp,
    FPToSIOp,
    FPToUIOp,
    SelectOp,
    UIToFPOp,
    lanes,
)
from ncc.dialects.operation import only_result, operands_of

PASS = "emit-llvm"

_SCALARS = {"f16": "half", "bf16": "bfloat", "f32": "float", "f64": "double", "index": "i64"}

_BINARY: dict[type[Operation], str] = {
    llvm.AddOp: "add", llvm.SubOp: "sub", llvm.MulOp: "mul", llvm.SDivOp: "sdiv",
    llvm.UDivOp: "udiv", llvm.SRemOp: "srem", llvm.URemOp: "urem", llvm.AndOp: "and",
    llvm.OrOp: "or", llvm.XOrOp: "xor", llvm.ShlOp: "shl", llvm.LShrOp: "lshr",
    llvm.AShrOp: "ashr", llvm.FAddOp: "fadd", llvm.FSubOp: "fsub", llvm.FMulOp: "fmul",
    llvm.FDivOp: "fdiv", llvm.FRemOp: "frem",
}  # fmt: skip

_CASTS: dict[type[Operation], str] = {
    llvm.TruncOp: "trunc", llvm.ZExtOp: "zext", llvm.SExtOp: "sext", llvm.BitcastOp: "bitcast",
    llvm.SIToFPOp: "sitofp", UIToFPOp: "uitofp", FPToSIOp: "fptosi", FPToUIOp: "fptoui",
    llvm.FPExtOp: "fpext", llvm.FPTruncOp: "fptrunc", llvm.PtrToIntOp: "ptrtoint",
    llvm.IntToPtrOp: "inttoptr",
}  # fmt: skip

# Intrinsics whose operands and result have one type: @llvm.<name>.<type>.
_INTRINSICS: dict[type[Operation], str] = {
    llvm.FMAOp: "fma", llvm.FAbsOp: "fabs", llvm.FSqrtOp: "sqrt", llvm.FFloorOp: "floor",
    llvm.FCeilOp: "ceil", llvm.FCopySignOp: "copysign", llvm.VectorFMaxOp: "maxnum",
    llvm.VectorFMinOp: "minnum",
}  # fmt: skip


def float_text(value: float, type: Attribute) -> str:
    """A float constant: LLVM spells float and double by the bits of the double, half by its own."""
    if isinstance(type, Float32Type):
        value = struct.unpack("<f", struct.pack("<f", value))[0]
    elif isinstance(type, Float16Type):
        return f"0xH{struct.unpack('<H', struct.pack('<e', value))[0]:04X}"
    elif isinstance(type, BFloat16Type):
        bits: int = struct.unpack("<I", struct.pack("<f", value))[0]
        if bits & 0xFFFF:
            raise CompilerBug(f"{value} is no number of bf16", pass_name=PASS)
        return f"0xR{bits >> 16:04X}"
    elif not isinstance(type, Float64Type):
        raise CompilerBug(f"a constant of type {type}", pass_name=PASS)
    return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"


class Emitter:
    """Text of one module."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        # By identity: hashing an attribute visits all of it, that of a value is a call, and those
        # of a module stay alive.
        self._types: dict[int, str] = {}
        self._names: dict[int, str] = {}
        self._numbered = 0
        self._labels: dict[int, str] = {}
        self._indices: dict[int, Sequence[int]] = {}
        self.declared: dict[str, str] = {}

    # Names and types

    def type(self, type: Attribute) -> str:
        """LLVM's spelling of a type."""
        text = self._types.get(id(type))
        if text is None:
            text = self._types[id(type)] = self._spell_type(type)
        return text

    def _spell_type(self, type: Attribute) -> str:
        if isinstance(type, llvm.LLVMPointerType):
            return "ptr"
        if isinstance(type, VectorType):
            return f"<{lanes(type)} x {self.type(type.element_type)}>"
        if isinstance(type, llvm.LLVMVoidType):
            return "void"
        if isinstance(type, IntegerType):
            return f"i{type.width.data}"
        text = _SCALARS.get(str(type))
        if text is None:
            raise CompilerBug(f"LLVM has no type {type}", pass_name=PASS)
        return text

    def typed(self, value: SSAValue) -> str:
        """Type and name of a value."""
        return f"{self.type(value.type)} {self._names[id(value)]}"

    def typed_list(self, values: Iterable[SSAValue]) -> str:
        """Types and names, separated by commas."""
        return ", ".join([self.typed(value) for value in values])

    def names(self, values: Iterable[SSAValue]) -> str:
        """Names, separated by commas."""
        return ", ".join([self._names[id(value)] for value in values])

    def constants(self, array: Attribute) -> Sequence[int]:
        """The numbers of an array."""
        found = self._indices.get(id(array))
        if found is None:
            assert isinstance(array, DenseArrayBase)
            found = self._indices[id(array)] = array.get_values()
        return found

    def label(self, block: Block) -> str:
        """The name of a block, as a branch says it."""
        return f"label %{self._labels[id(block)]}"

    def write(self, op: Operation, text: str) -> None:
        """One instruction; what it computes gets the next number as its name."""
        if op.results:
            name = self._named(only_result(op))
            self.lines.append(f"  {name} = {text}")
        else:
            self.lines.append(f"  {text}")

    def _named(self, value: SSAValue) -> str:
        """The next number, for a value: LLVM keeps no table of numbers, as it does of names."""
        name = self._names[id(value)] = f"%{self._numbered}"
        self._numbered += 1
        return name

    def declare(self, name: str, result: Attribute | None, arguments: Iterable[SSAValue]) -> str:
        """Declare a function of LLVM, and give the type of its result."""
        output = "void" if result is None else self.type(result)
        if name not in self.declared:
            inputs = ", ".join(self.type(argument.type) for argument in arguments)
            self.declared[name] = f"declare {output} @{name}({inputs})"
        return output

    # Functions

    def function(self, op: llvm.FuncOp) -> None:
        """A definition, or a declaration where there is no body."""
        name = op.sym_name.data
        output = self.type(op.function_type.output)
        if not op.body.blocks:
            inputs = ", ".join(self.type(type) for type in op.function_type.inputs)
            self.declared[name] = f"declare {output} @{name}({inputs}) nounwind"
            return
        self._names, self._labels, self._numbered = {}, {}, 0
        attributes = list(op.arg_attrs) if op.arg_attrs is not None else []
        arguments: list[str] = []
        for position, argument in enumerate(op.body.blocks[0].args):
            spelled = self._named(argument)
            noalias = attributes and "llvm.noalias" in attributes[position].data
            separate = " noalias" if noalias else ""
            arguments.append(f"{self.type(argument.type)}{separate} {spelled}")
        linkage = "internal " if op.linkage.linkage.data == "internal" else ""
        suffixes = ["nounwind"] if op.no_unwind is not None else []
        asked = op.passthrough if op.passthrough is not None else ()
        suffixes += [str(item.data) for item in asked if isinstance(item, StringAttr)]
        self.lines.append(
            f"define {linkage}{output} @{name}({', '.join(arguments)}) {' '.join(suffixes)} {{"
        )
        self._blocks(list(op.body.blocks))
        self.lines.append("}\n")

    def _blocks(self, blocks: Sequence[Block]) -> None:
        incoming = _incoming(blocks)
        for number, block in enumerate(blocks):
            self._labels[id(block)] = f"b{number}"
        phis: list[tuple[int, Block]] = []
        for number, block in enumerate(blocks):
            self.lines.append(f"b{number}:")
            if number and block.args:
                for argument in block.args:
                    self._named(argument)
                phis.append((len(self.lines), block))
                self.lines.append("")
            for op in block.ops:
                instruction = _INSTRUCTIONS.get(type(op))
                if instruction is None:
                    raise CompilerBug(f"LLVM text for {op.name}", pass_name=PASS, dump=f"{op}\n")
                instruction(self, op)
        # A phi names values of blocks that are written after it.
        for line, block in phis:
            self.lines[line] = self._phis(block, incoming[block])

    def _phis(self, block: Block, edges: list[tuple[Block, Sequence[SSAValue]]]) -> str:
        lines = []
        for position, argument in enumerate(block.args):
            values = ", ".join(
                f"[{self._names[id(passed[position])]}, %{self._labels[id(origin)]}]"
                for origin, passed in edges
            )
            lines.append(f"  {self._names[id(argument)]} = phi {self.type(argument.type)} {values}")
        return "\n".join(lines)

    def constant(self, op: llvm.ConstantOp) -> None:
        """A constant has no instruction: its name is its text."""
        self._names[id(op.result)] = self._literal(op.value)

    def _literal(self, value: Attribute) -> str:
        if isinstance(value, IntegerAttr):
            number = value.value.data
            if value.type == i1:
                return "true" if number else "false"
            return str(number)
        if isinstance(value, FloatAttr):
            return float_text(value.value.data, value.type)
        assert isinstance(value, DenseIntOrFPElementsAttr)
        type = value.get_element_type()
        spell: Callable[[Any], str] = (
            str if isinstance(type, IntegerType) else lambda number: float_text(number, type)
        )
        items = value.get_values()
        if value.is_splat():
            return f"splat ({self.type(type)} {spell(items[0])})"
        return "<" + ", ".join(f"{self.type(type)} {spell(item)}" for item in items) + ">"

    def undefined(self, op: llvm.UndefOp) -> None:
        """Neither has the value that does not matter."""
        self._names[id(op.res)] = "poison"

    def address(self, op: llvm.AddressOfOp) -> None:
        """The address of a function is its name."""
        self._names[id(op.result)] = f"@{op.global_name.string_value()}"

    def zero(self, op: llvm.ZeroOp) -> None:
        """All bits are zero."""
        self._names[id(op.res)] = "zeroinitializer"


def _incoming(blocks: Sequence[Block]) -> dict[Block, list[tuple[Block, Sequence[SSAValue]]]]:
    """For each block, where branches come from and what they pass."""
    edges: dict[Block, list[tuple[Block, Sequence[SSAValue]]]] = {block: [] for block in blocks}
    for block in blocks:
        last = block.last_op
        if isinstance(last, llvm.BrOp):
            edges[last.successor].append((block, last.arguments))
        elif isinstance(last, llvm.CondBrOp):
            edges[last.then_block].append((block, last.then_arguments))
            edges[last.else_block].append((block, last.else_arguments))
    return edges


def _flags(op: Operation) -> str:
    overflow = op.properties.get("overflowFlags")
    if overflow is not None and isinstance(overflow, IntegerAttr):
        bits = overflow.value.data
        return (" nsw" if bits & 1 else "") + (" nuw" if bits & 2 else "")
    return _fast_math(op)


def _fast_math(op: Operation) -> str:
    fast = op.properties.get("fastmathFlags")
    if fast is not None and isinstance(fast, llvm.FastMathAttr):
        return "".join(f" {flag}" for flag in sorted(fast.data))
    return ""


def _emit_binary(out: Emitter, op: Operation) -> None:
    lhs, rhs = operands_of(op)
    name = _BINARY[type(op)]
    out.write(op, f"{name}{_flags(op)} {out.type(lhs.type)} {out.names((lhs, rhs))}")


def _emit_cast(out: Emitter, op: Operation) -> None:
    (value,) = operands_of(op)
    out.write(op, f"{_CASTS[type(op)]} {out.typed(value)} to {out.type(only_result(op).type)}")


def _emit_intrinsic(out: Emitter, op: Operation) -> None:
    operands, kind = operands_of(op), only_result(op).type
    name = f"llvm.{_INTRINSICS[type(op)]}.{suffix(kind)}"
    result = out.declare(name, kind, operands)
    out.write(op, f"call{_fast_math(op)} {result} @{name}({out.typed_list(operands)})")


def _emit_named_intrinsic(out: Emitter, op: llvm.CallIntrinsicOp) -> None:
    name = op.intrin.data
    operands, kind = operands_of(op), only_result(op).type if op.results else None
    result = out.declare(name, kind, operands)
    out.write(op, f"call{_fast_math(op)} {result} @{name}({out.typed_list(operands)})")


def _emit_call(out: Emitter, op: llvm.CallOp) -> None:
    arguments = list(operands_of(op))
    if op.callee is None:
        callee = out.names([arguments.pop(0)])
    else:
        callee = f"@{op.callee.string_value()}"
    result = out.type(only_result(op).type) if op.results else "void"
    out.write(op, f"call {result} {callee}({out.typed_list(arguments)})")


def _emit_integer_compare(out: Emitter, op: llvm.ICmpOp) -> None:
    predicate = llvm.ICmpPredicateFlag.from_int(op.predicate.value.data)
    lhs, rhs = operands_of(op)
    out.write(op, f"icmp {predicate} {out.typed(lhs)}, {out.names((rhs,))}")


def _emit_float_compare(out: Emitter, op: FCmpOp) -> None:
    lhs, rhs = operands_of(op)
    predicate = str(llvm.FCmpPredicateFlag.from_int(op.predicate.value.data)).removeprefix("_")
    out.write(op, f"fcmp{_fast_math(op)} {predicate} {out.typed(lhs)}, {out.names((rhs,))}")


def _emit_operands(name: str) -> Callable[[Emitter, Operation], None]:
    """Instructions that are spelled as their name and their typed operands."""
    return lambda out, op: out.write(op, f"{name} {out.typed_list(operands_of(op))}")


def _emit_negate(out: Emitter, op: llvm.FNegOp) -> None:
    out.write(op, f"fneg{_fast_math(op)} {out.typed(op.arg)}")


def _emit_shuffle(out: Emitter, op: llvm.ShuffleVectorOp) -> None:
    mask = op.mask.get_values()
    if any(mask):
        numbers = ", ".join("i32 poison" if lane < 0 else f"i32 {lane}" for lane in mask)
        text = f"<{len(mask)} x i32> <{numbers}>"
    else:
        text = f"<{len(mask)} x i32> zeroinitializer"
    out.write(op, f"shufflevector {out.typed(op.v1)}, {out.typed(op.v2)}, {text}")


def _emit_address(out: Emitter, op: llvm.GEPOp) -> None:
    pointer, *dynamic = operands_of(op)
    rest = iter(dynamic)
    indices = [
        out.typed(next(rest)) if index == llvm.GEP_USE_SSA_VAL else f"i64 {index}"
        for index in out.constants(op.properties["rawConstantIndices"])
    ]
    bounds = " inbounds" if "inbounds" in op.properties else ""
    where = ", ".join([out.type(op.properties["elem_type"]), out.typed(pointer), *indices])
    out.write(op, f"getelementptr{bounds} {where}")


def _alignment(op: llvm.LoadOp | llvm.StoreOp | llvm.AllocaOp) -> str:
    alignment = op.properties.get("alignment")
    return f", align {alignment.value.data}" if isinstance(alignment, IntegerAttr) else ""


def _emit_alloca(out: Emitter, op: llvm.AllocaOp) -> None:
    out.write(op, f"alloca {out.type(op.elem_type)}, {out.typed(op.size)}{_alignment(op)}")


def _emit_load(out: Emitter, op: llvm.LoadOp) -> None:
    (pointer,), (result,) = operands_of(op), op.results
    out.write(op, f"load {out.type(result.type)}, {out.typed(pointer)}{_alignment(op)}")


def _emit_store(out: Emitter, op: llvm.StoreOp) -> None:
    out.write(op, f"store {out.typed_list(operands_of(op))}{_alignment(op)}")


def _emit_branch(out: Emitter, op: llvm.BrOp) -> None:
    out.write(op, f"br {out.label(op.successor)}")


def _emit_conditional(out: Emitter, op: llvm.CondBrOp) -> None:
    then, otherwise = out.label(op.then_block), out.label(op.else_block)
    out.write(op, f"br {out.typed(op.cond)}, {then}, {otherwise}")


def _emit_return(out: Emitter, op: llvm.ReturnOp) -> None:
    out.write(op, f"ret {out.typed(op.arg)}" if op.arg is not None else "ret void")


_INSTRUCTIONS: dict[type[Operation], Callable[[Emitter, Any], None]] = {
    **dict.fromkeys(_BINARY, _emit_binary),
    **dict.fromkeys(_CASTS, _emit_cast),
    **dict.fromkeys(_INTRINSICS, _emit_intrinsic),
    llvm.ConstantOp: Emitter.constant,
    llvm.AddressOfOp: Emitter.address,
    llvm.UndefOp: Emitter.undefined,
    llvm.ZeroOp: Emitter.zero,
    llvm.CallIntrinsicOp: _emit_named_intrinsic,
    llvm.CallOp: _emit_call,
    llvm.ICmpOp: _emit_integer_compare,
    FCmpOp: _emit_float_compare,
    SelectOp: _emit_operands("select"),
    llvm.InsertElementOp: _emit_operands("insertelement"),
    ExtractElementOp: _emit_operands("extractelement"),
    llvm.FNegOp: _emit_negate,
    llvm.ShuffleVectorOp: _emit_shuffle,
    llvm.GEPOp: _emit_address,
    llvm.AllocaOp: _emit_alloca,
    llvm.LoadOp: _emit_load,
    llvm.StoreOp: _emit_store,
    llvm.BrOp: _emit_branch,
    llvm.CondBrOp: _emit_conditional,
    llvm.ReturnOp: _emit_return,
    llvm.UnreachableOp: _emit_operands("unreachable"),
}
