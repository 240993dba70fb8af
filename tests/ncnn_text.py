"""Modules of the ncnn dialect: from their texts, and the types of what is in them."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, ModuleOp
from xdsl.dialects.func import Func
from xdsl.parser import Parser

from ncc.dialects.ncnn.dialect import NCNN
from ncc.dialects.ncnn.network import Network


def parse(text: str) -> ModuleOp:
    """The module that a text says."""
    context = Context()
    for dialect in (Builtin, Func, NCNN):
        context.load_dialect(dialect)
    return Parser(context, text).parse_module()


def types(module: ModuleOp) -> list[str]:
    """The types of a network's layers, in order."""
    return [layer.LAYER.type for layer in Network.of(module).layers]
