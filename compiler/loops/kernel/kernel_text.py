"""Kernels as text, which parses back to equal kernels (`kernel_parser.py`).

    arguments f32, f32, f32, f32
    loops d0 = 4, d1 = 196, d2 = 16, sum d3 = 64
    from 0.0
    sum(%x: f32 = arg0[64 * d1 + d3], %w: f32 = arg1[1024 * d0 + 16 * d3 + d2], %acc: f32 = out) {
      %0 = arith.mulf %x, %w : f32
      %1 = arith.addf %acc, %0 : f32
      linalg.yield %1 : f32
    }
    then(%sum: f32, %b: f32 = arg2[16 * d0 + d2], %out: f32 = out) { .. }
    store arg3[3136 * d0 + 16 * d1 + d2]

An argument of a body without `=` is the value so far, or unused. `out` is the accumulator, or
unused if nothing accumulates. An access that adds a number of a table to its address is written
`arg0[d1 + arg4[d0] to 63]`, where 63 is the largest of these numbers. One that skips 32 elements
behind every 14 iterations is written `arg3[16 * d1 + 32 * (d1 / 14)]`. A tensor that a body reads
at computed coordinates is one more argument: `%t: tensor<..> = arg1 strides [64, 1]`.
"""

from __future__ import annotations

from collections.abc import Iterator
from io import StringIO
from math import isfinite

from xdsl.ir import Block, Region, SSAValue
from xdsl.printer import Printer

from ncc.compiler.linalg.analysis.attributes import Matrix
from ncc.compiler.loops.kernel.kernel import Access, Bf16Split, Kernel, Stage
from ncc.dialects.operation import operands_of, ops_of


def kernel_text(kernel: Kernel) -> str:
    """The clauses of a kernel, a line each."""
    return "\n".join(_clauses(kernel))


def _clauses(kernel: Kernel) -> Iterator[str]:
    yield f"arguments {', '.join(map(str, kernel.element_types))}"
    loops = (f"{'sum ' * (d in kernel.reduced)}d{d} = {n}" for d, n in enumerate(kernel.extents))
    yield f"loops {', '.join(loops) or 'none'}"
    for outer, inner, true in kernel.valid_extents:
        yield f"valid d{outer}, d{inner} to {true}"
    if kernel.index_of:
        indices = sorted(kernel.index_of.items())
        said = (f"{n} = {'part' if d is None else f'd{d}'}" for n, d in indices)
        yield f"indices {', '.join(said)}"
    if kernel.matrices is not None:
        yield f"matrices {', '.join(map(_matrix_text, kernel.matrices))}"
    if kernel.lanes is not None:
        yield f"lanes {list(kernel.lanes)}"
    if kernel.k_split is not None:
        split = kernel.k_split
        yield f"k_split d{split.outputs}, d{split.inputs} by {split.times}"
    if isinstance(kernel.initial, Stage):
        yield _stage_text("from", kernel.initial, kernel)
    else:
        yield f"from {'memory' if kernel.initial is None else number_text(kernel.initial)}"
    yield _stage_text("sum" if kernel.accumulates else "map", kernel.anchor, kernel)
    for stage in kernel.epilogue:
        yield _stage_text("then", stage, kernel)
    yield f"store {access_text(kernel.store)}"
    if kernel.bf16_split is not None:
        yield from _bf16_split_clauses(kernel.bf16_split, kernel)


def _bf16_split_clauses(split: Bf16Split, kernel: Kernel) -> Iterator[str]:
    yield _stage_text("bf16_split", split.stage, kernel)
    yield (
        f"store{' alone' * split.alone} {access_text(split.store)}, "
        f"low {split.distance}, pairs d{split.pairs} back {split.back}"
    )


def _matrix_text(matrix: Matrix) -> str:
    rows = (f"[{', '.join(map(number_text, row))}]" for row in matrix)
    return f"[{', '.join(rows)}]"


def number_text(number: float) -> str:
    """A number that parses back to the same one."""
    text = repr(number)
    if not isfinite(number):
        return f'"{text}"'
    # A float of MLIR has a point.
    return text if "." in text else text.replace("e", ".0e")


def access_text(access: Access) -> str:
    """An access: its argument, and the sum that is its address."""
    terms = [(f"d{d}", by) for d, by in access.moves]
    said = [name if abs(by) == 1 else f"{abs(by)} * {name}" for name, by in terms]
    signs = [by < 0 for _, by in terms]
    if access.table is not None:
        said.append(f"{access_text(access.table.at)} to {access.table.most}")
        signs.append(False)
    if access.gap is not None:
        loop, length, elements = access.gap.loop, access.gap.length, access.gap.elements
        said.append(f"{abs(elements)} * (d{loop} / {length})")
        signs.append(elements < 0)
    if access.offset or not said:
        said.append(str(abs(access.offset)))
        signs.append(access.offset < 0)
    text = "-" * signs[0] + said[0]
    for term, negative in zip(said[1:], signs[1:], strict=True):
        text += f" {'-' if negative else '+'} {term}"
    return f"arg{access.argument}[{text}]"


def _stage_text(keyword: str, stage: Stage, kernel: Kernel) -> str:
    """A body and its arguments."""
    used = {operand for op in ops_of(stage.body) for operand in operands_of(op)}
    captured = [value for value in kernel.captured if value in used]
    types = [*(a.type for a in stage.body.args), *(value.type for value in captured)]
    copy = Block(arg_types=types)
    mapped: dict[SSAValue, SSAValue] = dict(
        zip([*stage.body.args, *captured], copy.args, strict=True)
    )
    for op in ops_of(stage.body):
        copy.add_op(op.clone(mapped))
    said = [None if a is None else access_text(a) for a in stage.inputs]
    said += ["out"] * (len(stage.body.args) - len(said))
    for value in captured:
        held = kernel.captured[value]
        said.append(f"arg{held.argument} strides {list(held.strides)}")
    stream = StringIO()
    printer = Printer(stream)
    printer.print_string(f"{keyword}(")
    for number, (argument, text) in enumerate(zip(copy.args, said, strict=True)):
        printer.print_string(", " if number else "")
        printer.print_block_argument(argument)
        printer.print_string("" if text is None else f" = {text}")
    printer.print_string(") ")
    printer.print_region(Region(copy), print_entry_block_args=False)
    return stream.getvalue()
