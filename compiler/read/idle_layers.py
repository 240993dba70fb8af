"""Layers that make nothing, or make of nothing what nobody reads.

    Noop    end    0 0
    Noop    heads  2 0 a b          a and b are outputs, as if it were not there
    Concat  left   0 1 z            where no layer reads z

ncnn loads layers of the types that know several numbers of blobs with any number, and runs those
whose blobs somebody asks for; ncnnoptimize drops such a Noop. They are left out, with a warning.
Types with weights are not among them: how much of the .bin is theirs is known of sound layers only.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from ncc.compiler.read.records import Graph, LayerRecord
from ncc.dialects.ncnn.layer import LAYERS

ONE = (1, 1)
"""Inputs or outputs of types that ncnn refuses in another number."""


def without_idle_layers(graph: Graph, asked: Collection[str] | None = None) -> Graph:
    """The graph without them, and a warning for each. asked: blobs that are wanted as outputs.

    A network that would compute no output keeps them: their counts are wrong then.
    """
    lacks = [_lack(record) for record in graph.layers]
    needed = set(asked or ())
    for record, lack in zip(graph.layers, lacks, strict=True):
        if lack is None or record.outputs:
            needed.update(blob.text for blob in record.inputs)
    kept: list[LayerRecord] = []
    warnings: list[str] = []
    for record, lack in zip(graph.layers, lacks, strict=True):
        if lack is None or any(blob.text in needed for blob in record.outputs):
            kept.append(record)
        else:
            message = f"{record} has no {lack}, and nobody needs it: it is left out"
            warnings.append(graph.source.warning(message, record.position))
    computed = [blob for record in kept if record.inputs for blob in record.outputs]
    ends = any(blob.text not in needed for blob in computed)
    if not warnings or not (ends or asked):
        return graph
    return replace(graph, layers=tuple(kept), warnings=(*graph.warnings, *warnings))


def _lack(record: LayerRecord) -> str | None:
    """The blobs that a layer should have and has not, where ncnn loads it without."""
    cls = LAYERS.get(record.type.text)
    if cls is None or cls.LAYER.weights or (cls.LAYER.inputs, cls.LAYER.outputs) == (ONE, ONE):
        return None
    if cls.LAYER.inputs[0] and not record.inputs:
        return "inputs"
    return None if record.outputs else "outputs"
