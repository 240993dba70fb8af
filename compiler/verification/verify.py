"""Hold a compiled network against its layers' references and against ncnn, blob by blob.

The network is compiled twice: as a user gets it, and with every blob as an output, which tells the
first layer that goes wrong. A blob that must be handed out cannot be fused away, so that a fault of
a fusion shows in the first of the two alone.

A detection jumps where two scores are equal but for rounding: its reference is given what compiled
code gave the layer, its rows are compared as a set, and ncnn is not asked.

A value that is rounded to int8 may be rounded to the number beside it, and all that follows moves:
from there on every reference is given what compiled code gave the layer, an int8 result may be one
off, and what ncnn computes is shown but not judged.

Of a batch all samples are compared at once, as one array.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import OpResult

from ncc.compiler.diagnostics import Unsupported
from ncc.compiler.driver import compile as front
from ncc.compiler.driver.specialise import callable_now
from ncc.compiler.feeds import random_feeds
from ncc.compiler.ncnn.unroll_batches import unroll_batches
from ncc.compiler.read.default_path import default_bin_path
from ncc.compiler.read.read_network import read
from ncc.compiler.verification import oracle
from ncc.compiler.verification.interpret import run_layers
from ncc.compiler.write.weights import write_weights
from ncc.dialects.ncnn.layer import Layer
from ncc.dialects.ncnn.network import Network, growing_inputs
from ncc.dialects.ncnn.plumbing import InputOp, SplitOp
from ncc.dialects.ncnn.quantization.quantize import QuantizeOp, RequantizeOp
from ncc.dialects.shapes import shown
from ncc.runtime.session import Model

Array: TypeAlias = NDArray[Any]
PathLike: TypeAlias = str | os.PathLike[str]

TOLERANCE = 1e-4
"""Largest difference that counts as none, as a part of the blob's largest value."""


@dataclass(frozen=True)
class Row:
    """One blob, and how far compiled code is off, in parts of the blob's largest value.

    ncnn: None where ncnn was not run. fused: whether the blob comes from the network as a user gets
    it, not from the one that hands out every blob. rounded: whether it depends on values that were
    rounded to int8.
    """

    layer: str
    type: str
    blob: str
    shape: tuple[int, ...]
    reference: float
    ncnn: float | None
    fused: bool = False
    rounded: bool = False

    def differs(self, tolerance: float) -> bool:
        ncnn = 0.0 if self.rounded else self.ncnn or 0.0
        return not max(self.reference, ncnn) <= tolerance


@dataclass(frozen=True)
class Report:
    """Every blob in the order of the layers, then the outputs of the network as a user gets it.

    no_ncnn: why ncnn was not run; None where it was.
    """

    rows: tuple[Row, ...]
    tolerance: float
    no_ncnn: str | None

    @property
    def first(self) -> Row | None:
        """The first blob that differs."""
        return next((row for row in self.rows if row.differs(self.tolerance)), None)


def verify(
    param: PathLike,
    bin: PathLike | None = None,
    *,
    feeds: Mapping[str, Array] | None = None,
    seed: int = 0,
    tolerance: float = TOLERANCE,
    opt_level: int = 2,
    num_threads: int = 1,
    target: str = "host",
    input_shapes: Mapping[str, Sequence[int | None]] | None = None,
    input_types: Mapping[str, str] | None = None,
    random_weights: int | None = None,
) -> Report:
    """Compile the network, run it on `feeds` (random ones of `seed` for inputs left out), compare.

    input_shapes are for inputs whose shape neither the file nor `feeds` tells. ncnn is asked where
    its wheel is installed and can read the file. Raises what reading, compiling and running raise.
    """
    feeds = feeds or {}
    module = read(param, bin, random_weights=random_weights).module
    options: dict[str, Any] = {
        "opt_level": opt_level,
        "num_threads": num_threads,
        "target": target,
        "input_shapes": {**(input_shapes or {}), **{k: a.shape for k, a in feeds.items()}},
        "input_types": input_types,
        "random_weights": random_weights,
    }
    network = callable_now(front.compile(param, bin, **options))
    inputs = {**random_feeds(network.inputs, seed), **feeds}
    blobs = computed_blobs(module)
    single = read(param, bin, random_weights=random_weights, outputs=blobs).module
    layers = _of_samples(single, inputs)
    whole = callable_now(front.compile(param, bin, outputs=blobs, **options))
    detecting = [op for op in layers.layers if _names(op) & _dynamic(whole)]
    names = _with_what_they_read(network, detecting, inputs)
    if len(names) > len(network.outputs):
        network = front.compile(param, bin, outputs=names, **options)
    fused, every = network.run(inputs), whole.run(inputs)

    stored = None if random_weights is not None else bin or default_bin_path(param)
    wheel, no_ncnn = _ask_ncnn(param, stored, module, inputs)
    judge = _Judge(layers, detecting, inputs, every, fused, wheel)
    return Report(judge.rows(), tolerance, no_ncnn)


def _of_samples(module: ModuleOp, inputs: Mapping[str, Array]) -> Network:
    """The network on these inputs, every layer of a batch once a sample."""
    unroll_batches(module, {name: array.shape for name, array in inputs.items()})
    return Network.of(module)


@dataclass
class _Judge:
    """A network, its inputs, what compiled code made of them, and what ncnn did.

    detecting: the layers that find rows. every, fused: all blobs, and those that a user gets.
    """

    network: Network
    detecting: Sequence[Layer]
    inputs: Mapping[str, Array]
    every: Mapping[str, Array]
    fused: Mapping[str, Array]
    wheel: Mapping[str, Array]

    def __post_init__(self) -> None:
        self.rounded = _behind_jumps(self.network, self.detecting)
        self.known = {**self.inputs, **self.every}

    def rows(self) -> tuple[Row, ...]:
        """Every blob in the order of the layers, then those that a user gets."""
        rows: list[Row] = []
        outputs: list[Row] = []
        for op, values in run_layers(self.network, self.inputs):
            rows += self._rows_of(op, values, self.every)
            outputs += self._rows_of(op, values, self.fused)
        return (*rows, *outputs)

    def _rows_of(
        self, op: Layer, values: Sequence[Array], run: Mapping[str, Array]
    ) -> Iterator[Row]:
        """The blobs of one layer that a run has handed out."""
        if not _names(op) & run.keys():
            return
        jumps = op in self.detecting
        for blob, value in zip(op.blob_names, self._wanted(op, values, run), strict=True):
            if blob not in run:
                continue
            found = run[blob]
            apart = (rows_apart if jumps else difference)(found, value)
            asked = None if jumps else _to_wheel(found, self.wheel.get(blob))
            where = op.layer_name, op.type_name, blob, tuple(found.shape)
            yield Row(*where, apart, asked, run is self.fused, op in self.rounded)

    def _wanted(
        self, op: Layer, values: Sequence[Array], run: Mapping[str, Array]
    ) -> Sequence[Array]:
        """What a layer shall have made: `values`, unless it jumps, or something in front of it."""
        reads = _read_by(op)
        if op in self.detecting:
            given = {**self.inputs, **run}
            return op.reference_all([given[name] for name in reads])
        if op in self.rounded and self.known.keys() >= {*reads, *op.blob_names}:
            if run is self.fused:
                return [self.every[name] for name in op.blob_names]
            return op.reference_all([self.known[name] for name in reads])
        return values


def _with_what_they_read(
    network: Model, detecting: Sequence[Layer], inputs: Mapping[str, Array]
) -> list[str]:
    """The names of the outputs, and of what the detecting layers read that make any of them."""
    names = dict.fromkeys(binding.name for binding in network.outputs)
    for op in reversed(detecting):
        if _names(op) & names.keys():
            names.update(dict.fromkeys(name for name in _read_by(op) if name not in inputs))
    return list(names)


def _behind_jumps(network: Network, detecting: Sequence[Layer]) -> set[Layer]:
    """The layers that round to int8, and those that depend on what they make or what is detected.

    A detecting layer by itself is none: what it finds is compared with what it is given.
    """
    jumps, found = set(detecting), set[Layer]()
    for op in network.layers:
        rounds = isinstance(op, QuantizeOp | RequantizeOp) or any(
            getattr(op, term, 0) for term in ("int8_scale_term", "quantize_term")
        )
        if rounds or any(operand.owner in jumps for operand in op.operands):
            jumps.add(op)
            found.add(op)
    return found


def _dynamic(model: Model) -> set[str]:
    return {binding.name for binding in model.outputs if binding.dynamic}


def _names(op: Layer) -> set[str]:
    return set(op.blob_names)


def _read_by(op: Layer) -> list[str]:
    """The names of the blobs that a layer reads."""
    names: list[str] = []
    for operand in op.operands:
        if isinstance(operand, OpResult) and isinstance(operand.op, Layer):
            names.append(operand.op.blob_names[operand.index])
    return names


def computed_blobs(module: ModuleOp) -> list[str]:
    """The names of everything that a network computes, in order; copies of what grows are left out:
    their shapes would have to be said.
    """
    network = Network.of(module)
    growing = {network.inputs[name] for name in growing_inputs(network)}
    computing = (
        op
        for op in network.layers
        if not isinstance(op, InputOp)
        and not (isinstance(op, SplitOp) and op.operands[0] in growing)
    )
    return [blob for op in computing for blob in op.blob_names]


def difference(found: Array, wanted: Array) -> float:
    """The largest difference, as a part of the largest wanted value; int8 may be one off, and
    denormal numbers are zeros, as they are where networks run.

    Infinite where the shapes differ, or where one of the two is not finite and the other is not the
    same.
    """
    if found.shape != wanted.shape:
        return float("inf")
    if not wanted.size:
        return 0.0
    odd = ~(np.isfinite(found) & np.isfinite(wanted))
    if not np.array_equal(found[odd], wanted[odd], equal_nan=True):
        return float("inf")
    ours, theirs = (_flushed(array[~odd].astype(np.float64)) for array in (found, wanted))
    largest = float(np.abs(theirs).max(initial=0.0))
    apart = float(np.abs(ours - theirs).max(initial=0.0))
    apart = max(apart - 1, 0.0) if found.dtype == wanted.dtype == np.int8 else apart
    return apart / largest if largest else apart


def _flushed(values: Array) -> Array:
    """The values, those below the least normal float32 as zeros."""
    return np.where(np.abs(values) < np.finfo(np.float32).smallest_normal, 0.0, values)


def _to_wheel(found: Array, wheel: Array | None) -> float | None:
    return None if wheel is None else difference_to_wheel(found, wheel)


def difference_to_wheel(found: Array, wheel: Array) -> float:
    """`difference` to what the wheel gave: it takes 16 bits for float16, 32 for float32."""
    bits = found.dtype in (np.uint16, np.int32) and found.itemsize == wheel.itemsize
    return difference(found, wheel.view(found.dtype) if bits else wheel)


def rows_apart(found: Array, wanted: Array) -> float:
    """`difference` of two sets of rows: the order of equal scores is rounding's choice."""
    if found.shape != wanted.shape or not wanted.size:
        return difference(found, wanted)
    rows, others = (array.reshape(len(array), -1) for array in (found, wanted))
    distances = np.abs(rows[:, None, :] - others[None, :, :]).max(axis=2)
    nearest = np.maximum(distances.min(axis=0), distances.min(axis=1))
    largest = float(np.abs(wanted).max())
    return float(nearest.max()) / largest if largest else float(nearest.max())


def _ask_ncnn(
    param: PathLike, bin: PathLike | None, module: ModuleOp, inputs: Mapping[str, Array]
) -> tuple[dict[str, Array], str | None]:
    """The blobs as ncnn computes them, but for those in a layout of its own; or none, and why.

    Weights that have no file get one.
    """
    layers = Network.of(module).layers
    odd = {op.blob_names[k] for op in layers for k in op.OWN_LAYOUT if k < len(op.results)}
    try:
        with tempfile.TemporaryDirectory(prefix="ncc-verify-") as folder:
            stored = bin or Path(folder, "weights.bin")
            if bin is None:
                with Path(stored).open("wb") as file:
                    write_weights(layers, file)
            found = oracle.run(param, stored, inputs)
    except (Unsupported, oracle.OracleError) as error:
        return {}, str(error)
    return {blob: array for blob, array in found.items() if blob not in odd}, None


def report_lines(report: Report) -> Iterable[str]:
    """The report as a table, one blob a line; those that differ are marked."""
    if report.no_ncnn is not None:
        yield f"not held against ncnn: {report.no_ncnn}"
    width = max((len(row.blob) for row in report.rows), default=4)
    yield f"  {'layer type':<22} {'blob':<{width}}  {'shape':<18} {'reference':>9} {'ncnn':>9}"
    for number, row in enumerate(report.rows):
        if row.fused and not report.rows[number - 1].fused:
            yield "as compiled for use:"
        mark = "!" if row.differs(report.tolerance) else " "
        ncnn = "-" if row.ncnn is None else f"{row.ncnn:.1e}"
        where = f"{row.type:<22} {row.blob:<{width}}  {shown(row.shape):<18}"
        yield f"{mark} {where} {row.reference:9.1e} {ncnn:>9}"
