"""Functions of a model, and operators that the standard defines as functions, as their nodes.

The `onnx` package inlines both. Operators that have a class of ours stay.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ncc.compiler.diagnostics import ModelError, Problem, Unsupported
from ncc.compiler.read_onnx.build_module import domain_of
from ncc.compiler.read_onnx.protobuf import GRAPH, package, refusals
from ncc.dialects.onnx.dialect import operator_class

MOST_ROUNDS = 8
"""How deep standard functions are defined by each other, at most."""

MOST_NODES = 1 << 20
"""Nodes that the functions of a model may become: small files can say any number of them."""


def inlined(model: Any, path: str) -> Any:
    """The model without calls of functions. Raises `Unsupported` where a function cannot be
    inlined, `ModelError` where the types of values do not fit each other.
    """
    from onnx import inliner

    if model.functions:
        _check_size(model)
        model = _without(model, inliner.inline_local_functions, "its own functions", path)
    for _ in range(MOST_ROUNDS):
        unknown = {(node.domain, node.op_type) for node in _calls(model)}
        if not unknown:
            break
        names = ", ".join(sorted(name for _, name in unknown))
        found = sorted(unknown)

        def inline(model: Any, found: list[tuple[str, str]] = found) -> Any:
            return inliner.inline_selected_functions(model, found, inline_schema_functions=True)

        model = _without(model, inline, names, path)
    return model


def _check_size(model: Any) -> None:
    """Raise `Unsupported` where the functions of a model become too many nodes."""
    bodies = {(one.domain, one.name): list(_nodes(one)) for one in model.functions}
    sizes = dict.fromkeys(bodies, 1)
    for _ in bodies:  # as deep as functions call each other, at most
        before = dict(sizes)
        for name, nodes in bodies.items():
            sizes[name] = sum(sizes.get((node.domain, node.op_type), 1) for node in nodes)
            if sizes[name] > MOST_NODES:
                raise Unsupported(
                    f"the function {name[1]!r}, which is more than {MOST_NODES} nodes"
                )
        if sizes == before:
            break


def _without(model: Any, inline: Any, what: str, path: str) -> Any:
    """The model as the package inlines it; errors about it are RuntimeErrors without a class."""
    try:
        return inline(model)
    except refusals() as error:
        raise ModelError(Problem(f"{what}: {str(error).splitlines()[0]}", path=path)) from error
    except (RuntimeError, ValueError) as error:
        reason = str(error).splitlines()[0]
        raise Unsupported(f"{what}, which onnx cannot write as nodes here: {reason}") from error


def _nodes(graph: Any) -> Iterator[Any]:
    """The nodes of a graph, and of graphs inside of it."""
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            if attribute.type == GRAPH:
                yield from _nodes(attribute.g)


def _calls(model: Any) -> list[Any]:
    """The nodes without a class that the standard defines as functions, all attributes said."""
    versions = {domain_of(one.domain): one.version for one in model.opset_import}
    found = []
    for node in _nodes(model.graph):
        domain = domain_of(node.domain)
        version = versions.get(domain)
        if version is None or operator_class(domain, node.op_type, version) is not None:
            continue
        schema = _schema(node.op_type, version, domain)
        if schema is not None and (schema.has_function or schema.has_context_dependent_function):
            _say_defaults(node, schema)
            found.append(node)
    return found


def _schema(name: str, version: int, domain: str) -> Any:
    """What the standard says of an operator; None where it does not have it."""
    defs = package().defs
    try:
        return defs.get_schema(name, version, domain)
    except defs.SchemaError:
        return None


def _say_defaults(node: Any, schema: Any) -> None:
    """Add the attributes that a node leaves at their defaults: functions refer to them."""
    said = {attribute.name for attribute in node.attribute}
    for name, declared in schema.attributes.items():
        default = declared.default_value
        if name not in said and default.type:
            node.attribute.append(default)
