"""Writes each operation of the llvm dialect as LLVM text."""

from __future__ import annotations

from typing import TypeAlias

from xdsl.dialects import llvm
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Operation

from ncc.compiler.llvm.instructions import (
    ExtractElementOp,
    FCmpOp,
    FenceOp,
    FPToSIOp,
    FPToUIOp,
    SelectOp,
    UIToFPOp,
)
from ncc.compiler.llvm.llvm_builder import suffix
from ncc.compiler.llvm.text import Emitter, Spelling
from ncc.dialects.attributes import values_of
from ncc.dialects.operation import only_result, operands_of

_Predicate: TypeAlias = llvm.ICmpPredicateFlag | llvm.FCmpPredicateFlag

_BINARY: dict[type[Operation], str] = {
    llvm.AddOp: "add", llvm.SubOp: "sub", llvm.MulOp: "mul", llvm.SDivOp: "sdiv",
    llvm.UDivOp: "udiv", llvm.SRemOp: "srem", llvm.URemOp: "urem", llvm.AndOp: "and",
    llvm.OrOp: "or", llvm.XOrOp: "xor", llvm.ShlOp: "shl", llvm.LShrOp: "lshr",
    llvm.AShrOp: "ashr", llvm.FAddOp: "fadd", llvm.FSubOp: "fsub", llvm.FMulOp: "fmul",
    llvm.FDivOp: "fdiv",
}  # fmt: skip

_CASTS: dict[type[Operation], str] = {
    llvm.TruncOp: "trunc", llvm.ZExtOp: "zext", llvm.SExtOp: "sext", llvm.BitcastOp: "bitcast",
    llvm.SIToFPOp: "sitofp", UIToFPOp: "uitofp", FPToSIOp: "fptosi", FPToUIOp: "fptoui",
    llvm.FPExtOp: "fpext", llvm.FPTruncOp: "fptrunc",
}  # fmt: skip

# Intrinsics whose operands and result have one type: @llvm.<name>.<type>.
_INTRINSICS: dict[type[Operation], str] = {
    llvm.FMAOp: "fma", llvm.FAbsOp: "fabs", llvm.FSqrtOp: "sqrt", llvm.FCopySignOp: "copysign",
}  # fmt: skip


def _flags(op: Operation) -> str:
    overflow = op.properties.get("overflowFlags")
    bits = overflow.value.data if isinstance(overflow, IntegerAttr) else 0
    return " nsw" if bits & 1 else ""


def _spell_binary(out: Emitter, op: Operation) -> None:
    lhs, rhs = operands_of(op)
    name = _BINARY[type(op)]
    out.write(op, f"{name}{_flags(op)} {out.type(lhs.type)} {out.names((lhs, rhs))}")


def _spell_cast(out: Emitter, op: Operation) -> None:
    (value,) = operands_of(op)
    out.write(op, f"{_CASTS[type(op)]} {out.typed(value)} to {out.type(only_result(op).type)}")


def _spell_intrinsic(out: Emitter, op: Operation) -> None:
    operands, kind = operands_of(op), only_result(op).type if op.results else None
    if isinstance(op, llvm.CallIntrinsicOp):
        name = op.intrin.data
    else:
        name = f"llvm.{_INTRINSICS[type(op)]}.{suffix(only_result(op).type)}"
    result = out.declare(name, kind, operands)
    out.write(op, f"call {result} @{name}({out.typed_list(operands)})")


def _spell_call(out: Emitter, op: llvm.CallOp) -> None:
    arguments = list(operands_of(op))
    if op.callee is None:
        callee = out.names([arguments.pop(0)])
    else:
        callee = f"@{op.callee.string_value()}"
    result = out.type(only_result(op).type) if op.results else "void"
    out.write(op, f"call {result} {callee}({out.typed_list(arguments)})")


def _spell_compare(name: str, flags: type[_Predicate]) -> Spelling:
    """A comparison, by xDSL's numbers of predicates."""

    def spell(out: Emitter, op: llvm.ICmpOp | FCmpOp) -> None:
        lhs, rhs = operands_of(op)
        predicate = str(flags.from_int(op.predicate.value.data)).removeprefix("_")
        out.write(op, f"{name} {predicate} {out.typed(lhs)}, {out.names((rhs,))}")

    return spell


def _spell_operands(name: str) -> Spelling:
    """An instruction that is written as its name and its typed operands."""
    return lambda out, op: out.write(op, f"{name} {out.typed_list(operands_of(op))}")


def _spell_shuffle(out: Emitter, op: llvm.ShuffleVectorOp) -> None:
    mask = op.mask.get_values()
    if any(mask):
        numbers = ", ".join("i32 poison" if lane < 0 else f"i32 {lane}" for lane in mask)
        text = f"<{len(mask)} x i32> <{numbers}>"
    else:
        text = f"<{len(mask)} x i32> zeroinitializer"
    out.write(op, f"shufflevector {out.typed(op.v1)}, {out.typed(op.v2)}, {text}")


def _spell_address(out: Emitter, op: llvm.GEPOp) -> None:
    pointer, *dynamic = operands_of(op)
    rest = iter(dynamic)
    indices = [
        out.typed(next(rest)) if index == llvm.GEP_USE_SSA_VAL else f"i64 {index}"
        for index in values_of(op.rawConstantIndices)
    ]
    bounds = " inbounds" if "inbounds" in op.properties else ""
    where = ", ".join([out.type(op.properties["elem_type"]), out.typed(pointer), *indices])
    out.write(op, f"getelementptr{bounds} {where}")


def _alignment(op: llvm.LoadOp | llvm.StoreOp | llvm.AllocaOp) -> str:
    alignment = op.properties.get("alignment")
    return f", align {alignment.value.data}" if isinstance(alignment, IntegerAttr) else ""


def _spell_alloca(out: Emitter, op: llvm.AllocaOp) -> None:
    out.write(op, f"alloca {out.type(op.elem_type)}, {out.typed(op.size)}{_alignment(op)}")


def _spell_load(out: Emitter, op: llvm.LoadOp) -> None:
    (pointer,), (result,) = operands_of(op), op.results
    out.write(op, f"load {out.type(result.type)}, {out.typed(pointer)}{_alignment(op)}")


def _spell_store(out: Emitter, op: llvm.StoreOp) -> None:
    out.write(op, f"store {out.typed_list(operands_of(op))}{_alignment(op)}")


def _spell_conditional(out: Emitter, op: llvm.CondBrOp) -> None:
    then, otherwise = out.label(op.then_block), out.label(op.else_block)
    out.write(op, f"br {out.typed(op.cond)}, {then}, {otherwise}")


def _spell_return(out: Emitter, op: llvm.ReturnOp) -> None:
    out.write(op, f"ret {out.typed(op.arg)}" if op.arg is not None else "ret void")


SPELLINGS: dict[type[Operation], Spelling] = {
    **dict.fromkeys(_BINARY, _spell_binary),
    **dict.fromkeys(_CASTS, _spell_cast),
    **dict.fromkeys(_INTRINSICS, _spell_intrinsic),
    llvm.ConstantOp: Emitter.constant,
    llvm.AddressOfOp: Emitter.address,
    llvm.UndefOp: Emitter.undefined,
    llvm.CallIntrinsicOp: _spell_intrinsic,
    llvm.CallOp: _spell_call,
    llvm.ICmpOp: _spell_compare("icmp", llvm.ICmpPredicateFlag),
    FCmpOp: _spell_compare("fcmp", llvm.FCmpPredicateFlag),
    SelectOp: _spell_operands("select"),
    llvm.InsertElementOp: _spell_operands("insertelement"),
    ExtractElementOp: _spell_operands("extractelement"),
    llvm.FNegOp: _spell_operands("fneg"),
    llvm.ShuffleVectorOp: _spell_shuffle,
    llvm.GEPOp: _spell_address,
    llvm.AllocaOp: _spell_alloca,
    llvm.LoadOp: _spell_load,
    llvm.StoreOp: _spell_store,
    FenceOp: lambda out, op: out.write(op, 'fence syncscope("singlethread") seq_cst'),
    llvm.BrOp: lambda out, op: out.write(op, f"br {out.label(op.successor)}"),
    llvm.CondBrOp: _spell_conditional,
    llvm.ReturnOp: _spell_return,
}
"""For each operation the function that writes it."""
