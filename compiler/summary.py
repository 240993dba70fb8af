"""Lists a network layer by layer: `ncc show`.

    layer type             name   blob   shape                 weights  multiply-adds
    Convolution            conv1  conv1  16x8x8                    160          9,216

Weights are counted as the layers declare them: a .param is enough. What lies beside it is looked at
for warnings alone.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import starmap
from math import prod

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from ncc.compiler.diagnostics import ModelError, Unsupported
from ncc.compiler.ncnn.infer_shapes import infer_shapes
from ncc.compiler.ncnn.multiply_adds import multiply_adds_of
from ncc.compiler.network_files import read_network
from ncc.compiler.read.default_path import default_bin_path
from ncc.compiler.read.layer_classes import problems_of, unknown_types
from ncc.compiler.read.read_network import read
from ncc.dialects.element import element_of, name_of
from ncc.dialects.ncnn.layer import Layer, shape_of
from ncc.dialects.ncnn.network import Network
from ncc.dialects.ncnn.plumbing import InputOp, SplitOp
from ncc.dialects.onnx.operator import ConstantOp
from ncc.dialects.shapes import OpenShape, shown
from ncc.dialects.size import is_open
from ncc.dialects.weights.weight import WeightAttr
from ncc.runtime.file_kinds import is_onnx
from ncc.runtime.memory_files import FileLike, file_of, shown_path
from ncc.runtime.paths import PathLike


@dataclass(frozen=True)
class Blob:
    """A value by its name. shape: with None where only the run, or nobody, knows an extent; None
    where not even the rank is known.
    """

    name: str
    type: str
    shape: OpenShape | None

    @staticmethod
    def of(name: str, value: SSAValue) -> Blob:
        shape = shape_of(value)
        told = None if shape is None else tuple(None if is_open(e) or e < 0 else e for e in shape)
        if told is None and isinstance(value.owner, InputOp):
            told = value.owner.stated
        return Blob(name, name_of(element_of(value)), told)

    @property
    def extents(self) -> str:
        """The shape as a text, with ? for an unknown extent."""
        return "?" if self.shape is None else shown(self.shape)

    def __str__(self) -> str:
        return f"{self.name}  {self.type} {self.extents}"


@dataclass(frozen=True)
class InputBlob(Blob):
    """An input of the network. axes: what its open axes are called."""

    axes: tuple[str, ...]

    @staticmethod
    def of(name: str, value: SSAValue) -> InputBlob:
        blob: Blob = Blob.of(name, value)
        names: Sequence[str] = ()
        if blob.shape is not None and isinstance(value.owner, InputOp):
            names = value.owner.axis_names(len(blob.shape))
        pairs = zip(names, blob.shape or (), strict=False)
        axes = tuple(axis for axis, extent in pairs if extent is None)
        return InputBlob(blob.name, blob.type, blob.shape, axes)

    def __str__(self) -> str:
        return ", ".join((super().__str__(), *self.axes))


@dataclass(frozen=True)
class LayerSummary:
    """A layer and the blobs that it makes. multiply_adds: None where they cannot be told."""

    type: str
    name: str
    blobs: tuple[Blob, ...]
    weights: int
    multiply_adds: int | None

    @staticmethod
    def of(op: Layer) -> LayerSummary:
        blobs = tuple(map(Blob.of, op.blob_names, op.results))
        counts = weights_of(op), multiply_adds_of(op)
        return LayerSummary(op.type_name, op.layer_name, blobs, *counts)


@dataclass(frozen=True)
class Summary:
    """A network as its .param tells it; Splits are no layers here.

    unknown: why some shapes are not known, if that is so. warnings: what the file says in vain.
    unknown_types: the types of layers that nobody knows. refusal: what a compilation says of them,
    if there are any.
    """

    inputs: tuple[InputBlob, ...]
    outputs: tuple[Blob, ...]
    layers: tuple[LayerSummary, ...]
    unknown: ModelError | Unsupported | None
    warnings: tuple[str, ...] = ()
    unknown_types: tuple[str, ...] = ()
    refusal: ModelError | None = None

    @staticmethod
    def of(module: ModuleOp, input_shapes: Mapping[str, OpenShape] | None) -> Summary:
        """With all shapes that can be told. Constants of ONNX are no layers here; they count as
        weights of their readers.
        """
        unknown: ModelError | Unsupported | None = None
        try:
            infer_shapes(module, input_shapes)
        except (ModelError, Unsupported) as error:
            unknown = error
        network = Network.of(module)
        layers = [op for op in network.layers if not isinstance(op, SplitOp | ConstantOp)]
        return Summary(
            tuple(starmap(InputBlob.of, network.inputs.items())),
            tuple(starmap(Blob.of, network.outputs.items())),
            tuple(map(LayerSummary.of, layers)),
            unknown,
        )

    @property
    def weights(self) -> int:
        return sum(layer.weights for layer in self.layers)

    @property
    def multiply_adds(self) -> int | None:
        """Of all layers that can tell; None where shapes are not known."""
        if self.unknown is not None:
            return None
        return sum(layer.multiply_adds or 0 for layer in self.layers)

    def table(self) -> Iterator[str]:
        """A line a blob, the numbers of its layer on the first; then the sums."""
        name_width = max((len(layer.name) for layer in self.layers), default=4)
        blob_width = max((len(b.name) for layer in self.layers for b in layer.blobs), default=4)

        def line(type: str, name: str, blob: str, shape: str, held: str, done: str) -> str:
            where = f"{type:<22} {name:<{name_width}}  {blob:<{blob_width}}  {shape:<16}"
            return f"{where} {held:>12} {done:>14}".rstrip()

        yield line("layer type", "name", "blob", "shape", "weights", "multiply-adds")
        for layer in self.layers:
            head = layer.type, layer.name
            counts = _count(layer.weights), _count(layer.multiply_adds)
            for blob in layer.blobs:
                yield line(*head, blob.name, blob.extents, *counts)
                head, counts = ("", ""), ("", "")
        total = f"{len(self.layers)} layer{'s' * (len(self.layers) != 1)}"
        yield line(total, "", "", "", _count(self.weights), _count(self.multiply_adds))


def summary_of(param: FileLike, input_shapes: Mapping[str, OpenShape] | None = None) -> Summary:
    """The network in a .param, with all shapes that can be told.

    Raises ModelError where the file is at fault, InputError for a name that is no input.
    """
    param = file_of(param, "the .param")
    if is_onnx(param):
        return Summary.of(read_network(param).module, input_shapes)
    found = read(param, random_weights=0, opaque=True)
    summary = Summary.of(found.module, input_shapes)
    more = tuple(text for text in _of_weights(param) if text not in found.warnings)
    odd = unknown_types(found.graph.layers)
    refusal = ModelError(problems_of(found.graph, odd)) if odd else None
    warnings = found.warnings + more
    return replace(summary, warnings=warnings, unknown_types=tuple(odd), refusal=refusal)


def _of_weights(param: PathLike) -> tuple[str, ...]:
    """The warnings of a network with the .bin that lies beside its .param, if there is one."""
    if not os.path.exists(default_bin_path(param)):
        return ()
    try:
        return read(param, opaque=True).warnings
    except ModelError as error:
        return (f"{shown_path(param)}: warning: its weights cannot be read:\n{error}",)


def weights_of(op: Layer) -> int:
    """How many numbers a layer holds."""
    constants = (value.owner for value in op.operands)
    held = [*op.properties.values(), *(c.weight for c in constants if isinstance(c, ConstantOp))]
    return sum(prod(one.shape) for one in held if isinstance(one, WeightAttr))


def _count(number: int | None) -> str:
    if number is None:
        return "?"
    return f"{number:,}" if number else "-"
