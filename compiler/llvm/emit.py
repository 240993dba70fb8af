"""The llvm dialect as LLVM text."""

from __future__ import annotations

from xdsl.dialects import llvm
from xdsl.dialects.builtin import ModuleOp

from ncc.compiler.diagnostics import CompilerBug
from ncc.compiler.llvm.spelling import SPELLINGS
from ncc.compiler.llvm.text import PASS, Emitter
from ncc.compiler.target import Target


def emit_llvm(module: ModuleOp, target: Target, more: str = "") -> str:
    """The module as LLVM text, followed by `more` text, which may define declared functions.

    Raises CompilerBug for an operation or a type without a spelling.
    """
    tuning = [f'"tune-cpu"="{target.tuning}"'] if target.tuning else []
    out = Emitter(SPELLINGS, tuning)
    for op in module.ops:
        if not isinstance(op, llvm.FuncOp):
            raise CompilerBug(f"LLVM text for {op.name}", pass_name=PASS)
        out.function(op)
    declared = [text for name, text in out.declared.items() if f" @{name}(" not in more]
    out.lines += [*declared, "", more]
    return f'; target: {target.name}\ntarget triple = "{target.triple}"\n\n' + "\n".join(out.lines)
