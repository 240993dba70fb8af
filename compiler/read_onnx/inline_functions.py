"""Functions of a model, and operators that the standard defines as functions, as their nodes.

The `onnx` package inlines both. Operators that have a class of ours stay.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ncc.compiler.read_onnx.build_module import domain_of
from ncc.compiler.read_onnx.protobuf import GRAPH, package
from ncc.dialects.onnx.operator import operator_class

MOST_ROUNDS = 8
"""How deep standard functions are defined by each other, at most."""


def inlined(model: Any) -> Any:
    """The model without calls of functions."""
    from onnx import inliner

    if model.functions:
        model = inliner.inline_local_functions(model)
    for _ in range(MOST_ROUNDS):
        unknown = sorted(_functions(model))
        if not unknown:
            break
        model = inliner.inline_selected_functions(
            model, unknown, exclude=False, inline_schema_functions=True
        )
    return model


def _nodes(graph: Any) -> Iterator[Any]:
    """The nodes of a graph, and of graphs inside of it."""
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            if attribute.type == GRAPH:
                yield from _nodes(attribute.g)


def _functions(model: Any) -> set[tuple[str, str]]:
    """The operators without a class that the standard defines as functions."""
    onnx = package()
    versions = {domain_of(one.domain): one.version for one in model.opset_import}
    found = set()
    for node in _nodes(model.graph):
        domain = domain_of(node.domain)
        version = versions.get(domain)
        if version is None or operator_class(domain, node.op_type, version) is not None:
            continue
        try:
            schema = onnx.defs.get_schema(node.op_type, version, domain)
        except onnx.defs.SchemaError:
            continue
        if schema.has_function or schema.has_context_dependent_function:
            found.add((node.domain, node.op_type))
    return found
