"""Compares a compiled network with the definitions of its layers, and with ncnn.

`verify` judges the network twice:

- As a user gets it. The outputs are compared with exact ones, which the layers' references compute
  in float64. `noise.py` says how far float32 in another order may be off.
- Layer by layer. A second compilation returns every blob (`pieces.py`). Each layer is judged on the
  inputs that compiled code gave it, so that rounding does not add up. A fault shows here that
  rounding hides at the outputs. ncnn runs each layer on the same inputs.

A blob that must be returned cannot be fused away. So a fault of a fusion shows in the first
judgement alone.

If a layer rounds to int8 or detects rows, the values behind it jump. Outputs behind such a layer
are compared with those of the second compilation. In a network with a batch, no layer is judged by
itself: every blob is judged as an output is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, TypeAlias, Unpack

from numpy.typing import NDArray
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from ncc.compiler.driver import compile as front
from ncc.compiler.driver.specialise import callable_now
from ncc.compiler.feeds import all_feeds, given_arrays
from ncc.compiler.ncnn.unroll_batches import unroll_batches
from ncc.compiler.options import Compiling, Options, flag_of
from ncc.compiler.progress import tell
from ncc.compiler.read.read_network import read
from ncc.compiler.verification.by_ncnn import ByNcnn, own_layout
from ncc.compiler.verification.difference import Apart, difference, rows_apart
from ncc.compiler.verification.interpret import blob_values
from ncc.compiler.verification.judge import judged_layer, judged_values, surveyed, to_wheel
from ncc.compiler.verification.noise import Noise, rounds
from ncc.compiler.verification.pieces import (
    ELEMENTS,
    Piece,
    layers_of,
    name_of,
    origin,
    owner_of,
    run_in_pieces,
)
from ncc.compiler.verification.report import TOLERANCE, Report, Row, report_lines
from ncc.dialects.ncnn.layer import Layer
from ncc.dialects.ncnn.movement.reshape import ReshapeOp
from ncc.dialects.ncnn.network import Network, implied_inputs
from ncc.dialects.ncnn.plumbing import InputOp, SplitOp
from ncc.runtime.errors import InputError
from ncc.runtime.memory_files import FileLike, file_of
from ncc.runtime.paths import PathLike
from ncc.runtime.session import Model

__all__ = ["TOLERANCE", "Report", "Row", "report_lines", "verify"]

Array: TypeAlias = NDArray[Any]


def verify(
    param: FileLike,
    bin: FileLike | None = None,
    *,
    feeds: Mapping[str, Array] | None = None,
    seed: int = 0,
    value_range: tuple[float, float] | None = None,
    tolerance: float = TOLERANCE,
    layers: bool = True,
    **options: Unpack[Compiling],
) -> Report:
    """Compile the network, run it, and compare.

    feeds: arrays by the names of inputs; all other inputs are random numbers, made from `seed`.
    value_range: the range of random floats, by default -1 to 1. tolerance: the largest difference
    that counts as none, as a part of a blob's largest value. layers: whether to judge layers one by
    one, too. options: those of `compile`, but for pixels and outputs; input_shapes has the shapes
    that neither the file nor `feeds` gives. ncnn runs too, if its wheel is installed and can read
    the file.

    Raises InputError for arguments of wrong types, and what reading, compiling and running raise.
    """
    param = file_of(param, "the .param")
    bin = None if bin is None else file_of(bin, "the .bin")
    given = given_arrays(feeds)
    layers = flag_of("layers", layers)
    if not isinstance(tolerance, Real) or not tolerance >= 0:
        raise InputError("no such tolerance", None, "a part, as 1e-4 is one", repr(tolerance))
    asked = Options.of(**options)
    if asked.inputs or asked.outputs is not None:
        raise InputError("verify compares all outputs of a network, and feeds it no pixels")
    shapes = {name: array.shape for name, array in given.items()}
    options["input_shapes"] = {**(options.get("input_shapes") or {}), **shapes}
    compiled = _Compiler(param, bin, options)
    model = compiled()
    inputs = all_feeds(model.inputs, given, seed, value_range)
    noise = Noise(Options.of(**options), seed)
    outputs = model.run(inputs)
    model.close()
    del model  # Its weights are as large as the network's, or four times as large.
    with ByNcnn(param, bin, asked.random_weights) as ncnn:
        rows = _Verification(compiled, inputs, noise, ncnn).rows(outputs, layers)
    return Report(rows, tolerance, ncnn.reason)


@dataclass(frozen=True)
class _Compiler:
    """Compiles one network, whole or in parts."""

    param: PathLike
    bin: PathLike | None
    options: Compiling

    def module(self, outputs: Sequence[str] | None = None) -> ModuleOp:
        """The network, or the part of it that some blobs need."""
        seed = self.options.get("random_weights")
        return read(self.param, self.bin, random_weights=seed, outputs=outputs).module

    def __call__(self, outputs: Sequence[str] | None = None) -> Model:
        """The network with these outputs."""
        options: Compiling = {**self.options, "outputs": outputs}
        return callable_now(front.compile(self.param, self.bin, **options))

    def part(self, outputs: Sequence[str], fed: Mapping[str, Array]) -> Model:
        """The part of the network between the blobs that are fed and these outputs."""
        types = {k: v for k, v in (self.options.get("input_types") or {}).items() if k in fed}
        made = {k: ELEMENTS[a.dtype.name] for k, a in fed.items() if a.dtype.name in ELEMENTS}
        shapes = {name: array.shape for name, array in fed.items()}
        options: Compiling = {**self.options, "input_shapes": shapes, "input_types": made | types}
        return _Compiler(self.param, self.bin, options)(outputs)


class _Verification:
    """One network on its inputs; `rows` judges it."""

    def __init__(
        self, compiled: _Compiler, inputs: Mapping[str, Array], noise: Noise, ncnn: ByNcnn
    ) -> None:
        self.compiled, self.inputs, self.noise, self.ncnn = compiled, inputs, noise, ncnn
        module = compiled.module()
        layers = Network.of(module).layers
        self.batched = any(isinstance(op, ReshapeOp) and op.has_batch for op in layers)
        self.blobs = computed_blobs(module) if self.batched else []
        if self.batched:
            module = compiled.module(self.blobs)
            unroll_batches(module, {name: array.shape for name, array in inputs.items()})
        self.network = Network.of(module)
        self.values = blob_values(self.network)
        self.survey = surveyed(self.network, inputs, set(self.network.outputs.values()))
        self.jumped = _behind_jumps(self.network, self.survey.counting)
        self.every: dict[SSAValue, Array] = {}
        """The outputs of the compilation that returns every blob."""

    def rows(self, outputs: Mapping[str, Array], layers: bool) -> tuple[Row, ...]:
        """One row for each blob, in the order of the layers, then one for each output."""
        inner: list[Row] = []
        jumped = any(self.values[name].owner in self.jumped for name in outputs)
        outputs = self._with_what_is_read(outputs)
        if self.batched:
            every = self.compiled(self.blobs).run(self.inputs)
            self.every = {self.values[name]: array for name, array in every.items()}
            wheel = self.ncnn.blobs(self.inputs, self._asked(self.blobs))
            inner = list(self._whole(self.blobs, every, wheel))
        elif layers or jumped:
            done, total = 0, len(layers_of(self.network))
            for piece in self._pieces():
                tell("comparing layers", done, total)
                inner += self._one_by_one(piece) if layers else []
                done += len(piece.layers)
        wheel = self.ncnn.blobs(self.inputs, self._asked(list(outputs)))
        as_used = self._whole(list(outputs), outputs, wheel)
        return (*inner, *(replace(row, fused=True) for row in as_used))

    # --- layer by layer ---------------------------------------------------------------------

    def _pieces(self) -> Iterator[Piece]:
        """The network in pieces. The outputs among their values are kept."""
        stay: set[SSAValue] = {value for op in self.survey.counting for value in op.results}
        stay |= {value for value, size in self.survey.bytes.items() if not size}
        part, sizes = self.compiled.part, self.survey.bytes
        for piece in run_in_pieces(self.network, self.inputs, part, sizes, stay):
            yield piece
            for value in self.network.outputs.values():
                if origin(value) in piece.values:
                    self.every[value] = piece.values[origin(value)]

    def _one_by_one(self, piece: Piece) -> Iterator[Row]:
        """The blobs of a piece. Each layer is judged on the inputs that it was given."""
        wheel = self.ncnn.layers(piece)
        for op in piece.layers:
            made, others = piece.made(op), [wheel.get(value) for value in op.results]
            judged = judged_layer(op, piece.given(op), made, others, self.noise)
            for blob, array, apart in zip(op.blob_names, made, judged, strict=True):
                yield _row(op, blob, array, apart)

    # --- as a whole -------------------------------------------------------------------------

    def _with_what_is_read(self, outputs: Mapping[str, Array]) -> Mapping[str, Array]:
        """The outputs that a user gets, and the inputs of detecting layers that make some."""
        names = _with_what_they_read(self.network, list(outputs), self.survey.counting, self.inputs)
        if len(names) == len(outputs):
            return outputs
        model = self.compiled(names)
        found = model.run(self.inputs)
        model.close()
        return {name: found[name] for name in names}

    def _whole(
        self, names: Sequence[str], found: Mapping[str, Array], wheel: Mapping[str, Array]
    ) -> Iterator[Row]:
        """Blobs of a run of the whole network, in the order of its layers."""
        pairs = {
            self.values[name]: (found[name], self.survey.values[self.values[name]])
            for name in names
            if self.values[name].owner not in {*self.jumped, *self.survey.counting}
        }
        judged = judged_values(self.network, self.inputs, pairs, self.noise)
        place = {op: number for number, op in enumerate(self.network.layers)}
        for name in sorted(names, key=lambda name: place[owner_of(self.values[name])]):
            value, array = self.values[name], found[name]
            op = owner_of(value)
            wanted = array
            if op in self.survey.counting:
                apart = Apart(rows_apart(array, self._detected(value, found)))
            elif value in judged:
                apart, wanted = judged[value], pairs[value][1]
            else:
                apart = Apart(difference(array, self._as_in_pieces(value)))
            theirs = wheel.get(name)
            apart = (
                apart if theirs is None else replace(apart, ncnn=to_wheel(array, wanted, theirs))
            )
            yield _row(op, name, array, apart)

    def _asked(self, names: Iterable[str]) -> list[str]:
        """The blobs among these that ncnn returns in our layout."""
        return [
            name
            for name in names
            if (op := owner_of(origin(self.values[name]))) not in self.survey.counting
            and origin(self.values[name]) not in own_layout(op)
        ]

    def _detected(self, value: SSAValue, found: Mapping[str, Array]) -> Array:
        """The rows that a layer's reference detects in its inputs from compiled code."""
        op, known = owner_of(value), {**self.inputs, **found}
        return op.reference_all([known[name_of(x)] for x in op.operands])[op.results.index(value)]

    def _as_in_pieces(self, value: SSAValue) -> Array:
        """A value of the compilation that returns every blob; in a batch, the exact value."""
        return self.survey.values[value] if self.batched else self.every[value]


def _row(op: Layer, blob: str, array: Array, apart: Apart) -> Row:
    return Row(
        op.layer_name,
        op.type_name,
        blob,
        tuple(array.shape),
        apart.error,
        apart.noise,
        apart.times,
        apart.ncnn,
        rounded=rounds(op),
        weight=apart.weight,
    )


def _with_what_they_read(
    network: Network,
    outputs: Sequence[str],
    detecting: Sequence[Layer],
    inputs: Mapping[str, Array],
) -> list[str]:
    """These names, and the names of inputs of the detecting layers that make any of them."""
    names = dict.fromkeys(outputs)
    for op in reversed(detecting):
        if set(op.blob_names) & names.keys():
            read = map(name_of, op.operands)
            names.update(dict.fromkeys(name for name in read if name not in inputs))
    return list(names)


def _behind_jumps(network: Network, detecting: Sequence[Layer]) -> set[Layer]:
    """The layers that round to int8, and all that read values of these or of detecting layers.

    A detecting layer by itself is not among them: its rows are compared on its own inputs.
    """
    jumps, found = set(detecting), set[Layer]()
    for op in network.layers:
        if rounds(op) or any(operand.owner in jumps for operand in op.operands):
            jumps.add(op)
            found.add(op)
    return found


def computed_blobs(module: ModuleOp) -> list[str]:
    """The names of all blobs that a network computes, in order.

    Copies of caches and masks are left out: somebody would have to give their shapes.
    """
    network = Network.of(module)
    implied = {network.inputs[name] for name in implied_inputs(network)}
    computing = (
        op
        for op in network.layers
        if not isinstance(op, InputOp)
        and not (isinstance(op, SplitOp) and op.operands[0] in implied)
    )
    return [blob for op in computing for blob in op.blob_names]
