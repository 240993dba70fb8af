"""What a network consists of, layer by layer: `ncc show`.

    layer type             name   blob   shape                 weights  multiply-adds
    Convolution            conv1  conv1  16x8x8                    160          9,216

Weights are counted as the layers declare them, and never looked at: a .param is enough.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod
from typing import TypeAlias

from xdsl.ir import SSAValue

from ncc.compiler.diagnostics import ModelError, Unsupported
from ncc.compiler.ncnn.infer_shapes import infer_shapes
from ncc.compiler.ncnn.multiply_adds import multiply_adds_of
from ncc.compiler.read.network import read
from ncc.dialects.element import element_of, name_of
from ncc.dialects.ncnn.layer import Layer, shape_of
from ncc.dialects.ncnn.network import Network
from ncc.dialects.ncnn.plumbing import SplitOp
from ncc.dialects.shapes import OpenShape
from ncc.dialects.weight import WeightAttr

AnyPath: TypeAlias = "str | os.PathLike[str]"


@dataclass(frozen=True)
class Summary:
    """A network as its .param tells it. unknown: why some shapes are not known, if that is so."""

    network: Network
    unknown: ModelError | Unsupported | None

    @property
    def inputs(self) -> Iterator[str]:
        """A line each."""
        return (_signature(*named) for named in self.network.inputs.items())

    @property
    def outputs(self) -> Iterator[str]:
        """A line each."""
        return (_signature(*named) for named in self.network.outputs.items())

    @property
    def layers(self) -> Iterator[str]:
        """A line a blob, the numbers of its layer on the first; Splits are no lines."""
        layers = [op for op in self.network.layers if not isinstance(op, SplitOp)]
        name_width = max((len(op.layer_name) for op in layers), default=4)
        blob_width = max((len(blob) for op in layers for blob in op.blob_names), default=4)

        def line(type: str, name: str, blob: str, shape: str, held: str, done: str) -> str:
            where = f"{type:<22} {name:<{name_width}}  {blob:<{blob_width}}  {shape:<16}"
            return f"{where} {held:>12} {done:>14}".rstrip()

        yield line("layer type", "name", "blob", "shape", "weights", "multiply-adds")
        for op in layers:
            head = op.type_name, op.layer_name
            counts = _count(weights_of(op)), _count(multiply_adds_of(op))
            for blob, result in zip(op.blob_names, op.results, strict=True):
                yield line(*head, blob, extents(result), *counts)
                head, counts = ("", ""), ("", "")
        held = sum(map(weights_of, layers))
        done = None if self.unknown else sum(multiply_adds_of(op) or 0 for op in layers)
        yield line(f"{len(layers)} layers", "", "", "", _count(held), _count(done))


def summary_of(param: AnyPath, input_shapes: Mapping[str, OpenShape] | None = None) -> Summary:
    """The network in a .param, with all shapes that can be told.

    Raises ModelError where the file is at fault, InputError for a name that is no input.
    """
    module = read(param, random_weights=0, opaque=True).module
    unknown = None
    try:
        infer_shapes(module, input_shapes)
    except (ModelError, Unsupported) as error:
        unknown = error
    return Summary(Network.of(module), unknown)


def weights_of(op: Layer) -> int:
    """How many numbers a layer holds."""
    return sum(prod(held.shape) for held in op.properties.values() if isinstance(held, WeightAttr))


def extents(value: SSAValue) -> str:
    """The shape of a blob, with ? where only the run, or nobody, knows it."""
    shape = shape_of(value)
    return "?" if shape is None else "x".join(str(e) if e >= 0 else "?" for e in shape)


def _signature(name: str, value: SSAValue) -> str:
    return f"{name}  {name_of(element_of(value))} {extents(value)}"


def _count(number: int | None) -> str:
    if number is None:
        return "?"
    return f"{number:,}" if number else "-"
