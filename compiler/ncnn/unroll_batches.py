"""Unrolls batches: the layers between two Reshapes that move the batch axis, sample by sample.

    %y = ncnn.Reshape(%x) {w = 4, h = 3, c = 2, batch_to = 0}           2 samples of 3x4
    %s = ncnn.Softmax(%y)
    %z = ncnn.Reshape(%s) {w = 4, h = 3, c = 2, batch_from = 0}

becomes

    %r = ncnn.Reshape(%x) {w = 12, h = 2, c = 1}
    %p, %q = ncnn.Slice(%r) {slices = [1, 1], axis = 1}
    %y0 = ncnn.Reshape(%p) {w = 4, h = 3}      %y1 = ncnn.Reshape(%q) {w = 4, h = 3}
    %s0 = ncnn.Softmax(%y0)                    %s1 = ncnn.Softmax(%y1)
    %a = ncnn.Reshape(%s0) {w = 12, ...}       %b = ncnn.Reshape(%s1) {w = 12, ...}
    %j = ncnn.Concat(%a, %b) {axis = 1}
    %z = ncnn.Reshape(%j) {w = 4, h = 3, c = 2}

The samples share weights and kernels. A layer that reads a batch and other blobs reads these with
every sample. A batch that is an output of the network is one array, the samples along a first axis.

Needs: layers whose params are checked, before shapes are inferred.  Breaks: nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from ncc.compiler.diagnostics import ModelError, Unsupported
from ncc.compiler.ncnn.infer_shapes import infer_layer
from ncc.compiler.ncnn.shape_problems import shape_problem
from ncc.dialects.ncnn.layer import (
    DYNAMIC,
    Layer,
    LayerError,
    OpenShape,
    ParamValue,
    Shape,
    shape_of,
)
from ncc.dialects.ncnn.movement.movement import ConcatOp, SliceOp
from ncc.dialects.ncnn.movement.reshape import MAX_RANK, ReshapeOp, reshape_params
from ncc.dialects.ncnn.network import Network
from ncc.dialects.ncnn.plumbing import InputOp
from ncc.dialects.size import is_open

_SAMPLES = re.compile(r"\dn")
"""How an expression asks for the number of samples."""


MOST_SAMPLES = 1 << 12
"""Samples of a batch: each has layers of its own."""


class UnrollBatches(ModulePass):
    """Replace every Reshape that moves a batch axis, and the layers between two of them."""

    name = "unroll-batches"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        unroll_batches(op)


def unroll_batches(module: ModuleOp, input_shapes: Mapping[str, OpenShape] | None = None) -> None:
    """Compute all samples of a network's batches by layers of their own.

    A batch axis behind a blob whose shape is not known stays, and is told where shapes are
    inferred. Raises `Unsupported` where an output would have more axes than a blob can, where only
    the run knows how many rows its samples have, or where a batch has too many; `ModelError` where
    samples do not become those of another batch.
    """
    network = Network.of(module)
    if any(isinstance(op, ReshapeOp) and op.has_batch for op in network.layers):
        _Unrolling(dict(input_shapes or {}), network.source).run(network)


@dataclass
class _Unrolling:
    """One walk over a network: the shape of each value, and the samples of each batch."""

    asked: Mapping[str, OpenShape]
    source: str | None
    shapes: dict[SSAValue, Shape] = field(default_factory=dict)
    batches: dict[SSAValue, list[SSAValue]] = field(default_factory=dict)
    replaced: list[Layer] = field(default_factory=list)

    def run(self, network: Network) -> None:
        for op in network.layers:
            if isinstance(op, ReshapeOp) and op.has_batch:
                self._move_batch(op)
            elif any(operand in self.batches for operand in op.operands):
                self._unroll(op)
            else:
                self._infer(op)
        for place, (name, value) in enumerate(network.outputs.items()):
            if isinstance(value.owner, Layer) and value in self.batches:
                batch = self._handed_out(name, value.owner, self.batches[value])
                network.terminator.operands[place] = batch
        for op in reversed(self.replaced):
            Rewriter.erase_op(op)

    def _infer(self, op: Layer) -> None:
        """Note the shapes of a layer's results, as far as they can be known here."""
        if isinstance(op, InputOp):
            for name, result in zip(op.blob_names, op.results, strict=True):
                shape = self.asked.get(name) or shape_of(result) or op.stated
                if shape is not None and None not in shape:
                    self.shapes[result] = tuple(extent or 0 for extent in shape)
            return
        known = [self.shapes[operand] for operand in op.operands if operand in self.shapes]
        if len(known) < len(op.operands):
            return
        try:
            inferred = infer_layer(op, known)
        except LayerError:
            return  # told where shapes are inferred
        self.shapes.update(zip(op.results, inferred, strict=True))

    def _add(self, before: Layer, op: Layer) -> Layer:
        """A new layer in the place of another one."""
        Rewriter.insert_op(op, InsertPoint.before(before))
        self._infer(op)
        return op

    def _reshape(
        self, before: Layer, x: SSAValue, shape: Shape, blobs: Sequence[str] = ("",)
    ) -> SSAValue:
        if is_open(*shape):
            raise self._unsupported(before, "a batch of samples of open sizes")
        params, name = reshape_params(shape), before.layer_name
        made = ReshapeOp.make([x], params, name=name, blobs=blobs, line=before.line)
        return self._add(before, made).results[0]

    def _handed_out(self, name: str, op: Layer, samples: Sequence[SSAValue]) -> SSAValue:
        """The samples of a layer's result as one array."""
        sample = self.shapes.get(samples[0])
        if sample is None:
            return samples[0]  # told where shapes are inferred
        if len(sample) == MAX_RANK or DYNAMIC in sample:
            raise Unsupported(
                f"the output {name!r}, which is a batch of samples of shape {sample}",
                layer=op.layer_name,
                line=op.line or None,
                how="put the batch back into the blob by a Reshape",
            )
        shape = (len(samples), *sample)
        return self._reshape(op, self._joined(op, samples, shape, 0), shape, [name])

    def _unroll(self, op: Layer) -> None:
        """The layer once a sample."""
        batches = [self.batches[value] for value in op.operands if value in self.batches]
        if len({len(samples) for samples in batches}) > 1:
            raise self._unsupported(op, "batches of different sizes")
        if any(_SAMPLES.search(value) for value in _strings(op)):
            raise self._unsupported(op, "an expression that asks for the number of samples")
        unrolled = []
        for k in range(len(batches[0])):
            one = op.clone()
            one.operands = [self.batches[v][k] if v in self.batches else v for v in op.operands]
            one.attributes["layer"] = StringAttr(f"{op.layer_name}.{k}")
            blobs = [StringAttr(f"{name}.{k}") for name in op.blob_names]
            one.attributes["blobs"] = ArrayAttr(blobs)
            unrolled.append(self._add(op, one))
        for number, result in enumerate(op.results):
            self.batches[result] = [one.results[number] for one in unrolled]
        self.replaced.append(op)

    def _move_batch(self, op: ReshapeOp) -> None:
        """Join the samples that are read, cut those that are made."""
        read = self.batches.get(op.operands[0], [op.operands[0]])
        firsts = [self.batches.get(operand, [operand])[0] for operand in op.operands]
        x, *others = (self.shapes.get(first) for first in firsts)
        if x is None or None in others:
            op.operands = firsts  # whose shapes cannot be inferred, as is told where all are
            return
        known = [shape for shape in others if shape is not None]
        if firsts != list(op.operands) and _SAMPLES.search(op.shape_expr):
            raise self._unsupported(op, "an expression that asks for the number of samples")
        try:
            batching = op.batching(x, len(read), *known)
            sample = batching.sample
        except LayerError as error:
            if len(read) == 1:
                return  # told where shapes are inferred
            # Samples have no shapes in the IR yet by which their way could be shown.
            problem = replace(shape_problem(op, error, self.source), found=None)
            raise ModelError(problem) from None
        joined = self._joined(op, read, batching.read, batching.read_axis)
        parts = self._cut(op, joined, batching.made, batching.made_axis)
        if len(parts) == 1:
            made = self._reshape(op, joined, sample, op.blob_names)
            Rewriter.replace_op(op, [], new_results=[made])
            return
        self.batches[op.results[0]] = [self._reshape(op, part, sample) for part in parts]
        self.replaced.append(op)

    def _joined(
        self, op: Layer, samples: Sequence[SSAValue], shape: Shape, axis: int | None
    ) -> SSAValue:
        """All elements in their order, with `shape` in mind, whose axis is that of the samples."""
        if len(samples) == 1 or axis is None:
            return samples[0]
        outer, inner = prod(shape[:axis]), prod(shape[axis + 1 :])
        rows = [self._reshape(op, value, (outer, 1, inner)) for value in samples]
        return self._add(op, ConcatOp.make(rows, {"axis": 1}, name=op.layer_name)).results[0]

    def _cut(self, op: Layer, x: SSAValue, shape: Shape, axis: int | None) -> list[SSAValue]:
        """The parts of x along an axis of `shape`, one a sample."""
        if axis is None or shape[axis] == 1:
            return [x]
        count, inner = shape[axis], prod(shape[axis + 1 :])
        if is_open(count):
            raise self._unsupported(op, "a batch of an open number of samples")
        if count > MOST_SAMPLES:
            raise self._unsupported(op, f"a batch of {count} samples, at most {MOST_SAMPLES}")
        whole = self._reshape(op, x, (prod(shape[:axis]), count, inner))
        params: dict[str, ParamValue] = {"slices": (1,) * count, "axis": 1}
        blobs = [""] * count
        cut = SliceOp.make([whole], params, name=op.layer_name, blobs=blobs, line=op.line)
        return list(self._add(op, cut).results)

    def _unsupported(self, op: Layer, what: str) -> Unsupported:
        return Unsupported(what, layer=op.layer_name, line=op.line or None)


def _strings(op: Layer) -> list[str]:
    """The values of the params that are strings."""
    params = op.LAYER.params.values()
    return [getattr(op, param.name) for param in params if param.kind == "string"]
