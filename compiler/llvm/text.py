"""The LLVM text of a module: types, names, functions and their blocks.

One pass over the operations makes strings only. Constants are written where they are used, and
blocks with arguments become phis. `spelling` writes each instruction.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from xdsl.dialects import llvm
from xdsl.dialects.builtin import (
    BFloat16Type,
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
from ncc.compiler.llvm.instructions import lanes
from ncc.dialects.operation import only_result, ops_of

PASS = "emit-llvm"

_SCALARS = {"f16": "half", "bf16": "bfloat", "f32": "float", "f64": "double", "index": "i64"}

Spelling: TypeAlias = "Callable[[Emitter, Any], None]"
"""Writes one instruction."""


def float_text(value: float, type: Attribute) -> str:
    """A float constant: the bits of a double for float and double, its own bits for half."""
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
    """The text of one module. spellings: for each instruction the function that writes it."""

    def __init__(
        self, spellings: Mapping[type[Operation], Spelling], attributes: Sequence[str] = ()
    ) -> None:
        """attributes: of all functions."""
        self.spellings, self.attributes = spellings, attributes
        self.lines: list[str] = []
        # By identity: to hash an attribute visits all of it, to hash a value is a call, and those
        # of a module stay alive.
        self._types: dict[int, str] = {}
        self._names: dict[int, str] = {}
        self._numbered = 0
        self._labels: dict[int, str] = {}
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
        if isinstance(type, llvm.LLVMArrayType):
            return f"[{type.size.data} x {self.type(type.type)}]"
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

    def label(self, block: Block) -> str:
        """The name of a block, as in a branch."""
        return f"label %{self._labels[id(block)]}"

    def write(self, op: Operation, text: str) -> None:
        """One instruction; its result gets the next number as its name."""
        if op.results:
            name = self._named(only_result(op))
            self.lines.append(f"  {name} = {text}")
        else:
            self.lines.append(f"  {text}")

    def _named(self, value: SSAValue) -> str:
        """The next number, as the name of a value: LLVM keeps a table of names, but none of
        numbers.
        """
        name = self._names[id(value)] = f"%{self._numbered}"
        self._numbered += 1
        return name

    def declare(self, name: str, result: Attribute | None, arguments: Iterable[SSAValue]) -> str:
        """Declare a function of LLVM; returns the type of its result."""
        output = "void" if result is None else self.type(result)
        if name not in self.declared:
            inputs = ", ".join(self.type(argument.type) for argument in arguments)
            self.declared[name] = f"declare {output} @{name}({inputs})"
        return output

    # Functions

    def function(self, op: llvm.FuncOp) -> None:
        """A definition, or a declaration if there is no body."""
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
        suffixes += self.attributes
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
            for op in ops_of(block):
                spell = self.spellings.get(type(op))
                if spell is None:
                    raise CompilerBug(f"LLVM text for {op.name}", pass_name=PASS, dump=f"{op}\n")
                spell(self, op)
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

    # Values without an instruction

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
        """Neither has an undefined value."""
        self._names[id(op.res)] = "poison"

    def address(self, op: llvm.AddressOfOp) -> None:
        """The address of a function is its name."""
        self._names[id(op.result)] = f"@{op.global_name.string_value()}"


def _incoming(blocks: Sequence[Block]) -> dict[Block, list[tuple[Block, Sequence[SSAValue]]]]:
    """For each block, the blocks that branch to it, and the values that they pass."""
    edges: dict[Block, list[tuple[Block, Sequence[SSAValue]]]] = {block: [] for block in blocks}
    for block in blocks:
        last = block.last_op
        if isinstance(last, llvm.BrOp):
            edges[last.successor].append((block, last.arguments))
        elif isinstance(last, llvm.CondBrOp):
            edges[last.then_block].append((block, last.then_arguments))
            edges[last.else_block].append((block, last.else_arguments))
    return edges
