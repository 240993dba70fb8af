"""Finds the class of a layer type: one of ncc, or one of an installed package.

An installed package declares layers by an entry point of the group `ncc.layers`, which names the
module to import. ncc looks for packages if a file has a type without a class.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ncc.compiler.diagnostics import Problem, Unsupported, did_you_mean
from ncc.compiler.read.layer_types import LAYER_TYPES
from ncc.compiler.read.left_over import CALLED_IN_NCNN, left_over
from ncc.compiler.read.records import Graph, LayerRecord
from ncc.dialects.ncnn.layer import LAYERS

GROUP = "ncc.layers"

HOW = (
    "declare the type in a class of your own (CONTRIBUTING.md: a layer from outside), or ask for "
    "blobs in front of it as outputs; `ncc optimize` hands layers of unknown types on as they are"
)


def import_packages() -> None:
    """Import the modules that installed packages declare, each once in a process.

    Raises Unsupported where one cannot be imported.
    """
    # Rarely needed, and slow to import.
    from importlib.metadata import entry_points

    for entry in entry_points(group=GROUP):
        try:
            entry.load()
        except Exception as error:
            package = f" of the package {entry.dist.name!r}" if entry.dist is not None else ""
            raise Unsupported(
                f"the layers in {entry.value!r}{package}: {type(error).__name__}: {error}",
                how="mend the package, or uninstall it",
            ) from error


def unknown_types(layers: Sequence[LayerRecord]) -> dict[str, list[LayerRecord]]:
    """The types without a class, with their layers, in the order given."""
    unknown = _unknown(layers)
    if unknown:
        import_packages()
        unknown = _unknown(layers)
    return unknown


def _unknown(layers: Sequence[LayerRecord]) -> dict[str, list[LayerRecord]]:
    found: dict[str, list[LayerRecord]] = {}
    for record in layers:
        if record.type.text not in LAYERS:
            found.setdefault(record.type.text, []).append(record)
    return found


def problems_of(graph: Graph, unknown: dict[str, list[LayerRecord]]) -> Iterator[Problem]:
    """One problem for each unknown type, where it is first used; the last that has the same way on
    tells it.
    """
    last = {_how(type): type for type in unknown}
    for type, layers in unknown.items():
        later = ", ".join(str(record.position.line) for record in layers[1:])
        lines = "lines" if len(layers) > 2 else "line"
        how = _how(type)
        yield graph.source.problem(
            f"{_refusal(type)}{f' (also on {lines} {later})' if later else ''}",
            layers[0].position,
            suggestion=_suggestion(type),
            how=how if last[how] == type else None,
        )


def warning_of(graph: Graph, layers: list[LayerRecord]) -> str:
    """One line about layers of one unknown type that are copied unchanged."""
    type = layers[0].type.text
    meant = _suggestion(type)
    question = "" if meant is None else f"; did you mean {meant!r}?"
    message = f"{_refusal(type)}: handed on as it is{question}"
    return graph.source.warning(message, layers[0].position)


def _refusal(type: str) -> str:
    """The problem of an unknown type."""
    left = left_over(type)
    if left is not None:
        return left[0]
    what = "ncc does not have ncnn's" if type in LAYER_TYPES else "no"
    return f"{what} layer type {type!r}"


def _how(type: str) -> str:
    """How to go on from an unknown type."""
    left = left_over(type)
    return HOW if left is None else left[1]


def _suggestion(type: str) -> str | None:
    """The known type that was probably meant."""
    if type in LAYER_TYPES or left_over(type) is not None:
        return None
    return CALLED_IN_NCNN.get(type) or did_you_mean(type, {*LAYER_TYPES, *LAYERS})
