"""Makes a kernel that copies, for a value that would need two subviews."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack

from xdsl.dialects import func
from xdsl.dialects.builtin import f32, i64
from xdsl.ir import Block, SSAValue

from ncc.compiler.linalg.analysis.linalg_op import shape_of
from ncc.dialects.code import CodeOp
from ncc.dialects.functions import private_function
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.statements import Code, Operand


def copying(name: str, values: Sequence[SSAValue]) -> func.FuncOp:
    """A private function from a value to its copy, or from rows and their count to both copies."""
    types = [value.type for value in values]
    body = Block(arg_types=types)
    builder = Builder(body, "copy")
    given = [Tensor(argument, shape_of(argument)) for argument in body.args]
    if len(given) == 1:
        loops = builder.loops_of(given[0].shape)
        copies = [builder.map(loops, given[0][loops])]
    else:
        copies = builder.code(_copy_of_rows(given))
    body.add_op(func.ReturnOp(*[copy.value for copy in copies]))
    return private_function(name, body, types)


def _copy_of_rows(given: Sequence[Tensor]) -> CodeOp:
    """Copies the valid rows only: the others are undefined."""
    code = Code(given, [(given[0].shape, f32), ((1,), i64)])
    (rows, count), (copies, copied) = code.inputs, code.results
    with ExitStack() as loops:
        extents: list[Operand] = [count[0], *rows.shape[1:]]
        at = tuple(loops.enter_context(code.range(extent)) for extent in extents)
        copies[at] = rows[at]
    copied[0] = count[0]
    return code.operation()
