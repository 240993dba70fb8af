"""What passes change in a module, as text.

    // erased: %2, %y
    ...
    %9 = tensor.empty() : tensor<48x6x6xf32>
    %10 = linalg.generic { .. } ins(%9, ..) ..
    %16 = like %10 of %9, ..
    func.return %16 : tensor<48x6x6xf32>

The text has the operations that were not there before, and those that have moved or read other
values. Three dots stand for operations that are as before. Values keep the names that they have in
the module before. An operation with a body is written once: others like it have other operands.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from io import StringIO

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.printer import Printer

from ncc.compiler.linalg.analysis.generics import network_of


@dataclass(frozen=True)
class _Printed:
    """An operation as text, and the names of its results and operands."""

    text: str
    results: str
    operands: str

    @property
    def kind(self) -> str:
        """The text with other names, which alike operations have in common."""
        names: dict[str, int] = {}
        return re.sub(r"%[\w$.-]+", lambda m: f"%{names.setdefault(m[0], len(names))}", self.text)


class Changes:
    """The operations of a module, to be compared with those that passes leave of them."""

    def __init__(self, module: ModuleOp) -> None:
        self._stream = StringIO()
        self._printer = Printer(self._stream)
        self._arguments = self._arguments_of(module)
        self._before = self._all(module)

    def text(self, module: ModuleOp) -> str:
        """What is not as before."""
        arguments, after = self._arguments_of(module), self._all(module)
        found: list[_Printed | None] = []
        erased: list[str] = []
        matcher = SequenceMatcher(None, self._before, after, autojunk=False)
        for tag, first, last, begin, end in matcher.get_opcodes():
            found += [None] if tag == "equal" else after[begin:end]
            erased += [one.results for one in self._before[first:last] if tag != "equal"]
        if found == [None]:
            return "// nothing\n"
        left = {one.results for one in found if one is not None}
        gone = [names for names in erased if names not in left]
        head = [f"// erased: {', '.join(gone)}"] if gone else []
        if arguments != self._arguments:
            head.append(f"// arguments: {arguments}")
        return "".join(f"{line}\n" for line in [*head, *_lines(found)])

    def _arguments_of(self, module: ModuleOp) -> str:
        """The arguments of the network, which get their names here."""
        return self._names(network_of(module).body.block.args)

    def _all(self, module: ModuleOp) -> list[_Printed]:
        """Each operation of the network, and each other function."""
        network = network_of(module)
        others = [op for op in module.body.block.ops if op is not network]
        return [
            _Printed(self._text(op), self._names(op.results), self._names(_operands(op)))
            for op in (*network.body.block.ops, *others)
        ]

    def _text(self, op: Operation) -> str:
        begin = self._stream.tell()
        self._printer.print_op(op)
        return self._stream.getvalue()[begin:]

    def _names(self, values: Sequence[SSAValue]) -> str:
        return ", ".join(f"%{self._printer.print_ssa_value(value)}" for value in values)


def _operands(op: Operation) -> list[SSAValue]:
    """What an operation reads, and what its body reads of other operations."""
    inner = [one for region in op.regions for one in region.walk()]
    blocks = [block for one in (op, *inner) for region in one.regions for block in region.blocks]
    own = {*(value for one in inner for value in one.results)}
    own |= {value for block in blocks for value in block.args}
    return [*op.operands, *(read for one in inner for read in one.operands if read not in own)]


def _lines(found: Sequence[_Printed | None]) -> Iterator[str]:
    """One line, or several, of each operation; dots for those that are as before."""
    known: dict[str, str] = {}
    for one in found:
        if one is None:
            yield "..."
        elif one.results and one.kind in known and "\n" in one.text:
            yield f"{one.results} = like {known[one.kind]} of {one.operands}"
        else:
            known[one.kind] = one.results
            yield one.text
