"""Modules of the ncnn dialect from their texts."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, ModuleOp
from xdsl.dialects.func import Func
from xdsl.parser import Parser

from ncc.dialects.ncnn.dialect import NCNN


def parse(text: str) -> ModuleOp:
    """The module that a text says."""
    context = Context()
    for dialect in (Builtin, Func, NCNN):
        context.load_dialect(dialect)
    return Parser(context, text).parse_module()
