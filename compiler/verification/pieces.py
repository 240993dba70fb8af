"""Runs a network by compiled code, piece by piece, and returns every blob.

A piece is some layers in a row. ncc compiles them as a network of their own, and feeds them with
blobs of earlier pieces. So memory holds only the blobs of one piece, and those that later pieces
read. A Split is no layer here: a layer that reads a copy reads the original.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.ir import SSAValue

from ncc.dialects.ncnn.layer import Array, Layer
from ncc.dialects.ncnn.network import Network
from ncc.dialects.ncnn.plumbing import InputOp, SplitOp
from ncc.runtime.session import Model

MOST_LAYERS = 48
"""The most layers of a piece. More would save little time."""

MOST_BYTES = 128 << 20
"""The most bytes that a piece returns, unless it is a single layer."""

ELEMENTS = {"int8": "int8", "int32": "int32", "float16": "float16", "uint16": "bfloat16"}
"""The element type of an input that is not float32, by numpy's name."""


NOTHING = np.zeros(1, np.float32)
"""Feeds an input that a piece does not read, if the piece reads another input of the same layer."""


@dataclass(frozen=True)
class Piece:
    """Layers in order, with the values that they read and made in compiled code."""

    layers: Sequence[Layer]
    values: Mapping[SSAValue, Array]

    def given(self, op: Layer) -> list[Array]:
        """The values that a layer read."""
        return [self.values[origin(operand)] for operand in op.operands]

    def made(self, op: Layer) -> list[Array]:
        """The values that a layer made."""
        return [self.values[result] for result in op.results]


def origin(value: SSAValue) -> SSAValue:
    """The value that Splits copied to this one; this one itself if no Split made it."""
    while isinstance(value.owner, SplitOp):
        value = value.owner.operands[0]
    return value


def name_of(value: SSAValue) -> str:
    """The name of the blob that a layer makes."""
    owner = owner_of(value)
    return owner.blob_names[owner.results.index(value)]


def layers_of(network: Network) -> list[Layer]:
    """The layers that compute something."""
    return [op for op in network.layers if not isinstance(op, InputOp | SplitOp)]


def run_in_pieces(
    network: Network,
    inputs: Mapping[str, Array],
    compile: Callable[[Sequence[str], Mapping[str, Array]], Model],
    sizes: Mapping[SSAValue, int],
    stay: set[SSAValue],
) -> Iterator[Piece]:
    """Run all layers in order, piece by piece.

    compile: returns the model that computes the named blobs from the arrays that are fed. sizes:
    the bytes of each value. stay: values that cannot be fed, so that a piece includes their last
    reader.
    """
    values = {network.inputs[name]: array for name, array in inputs.items()}
    readers = Counter(origin(operand) for op in layers_of(network) for operand in op.operands)
    for layers in _parted(layers_of(network), sizes, stay):
        made = {result for op in layers for result in op.results}
        read = {origin(operand) for op in layers for operand in op.operands} - made
        inner = [v for v in read if not isinstance(v.owner, InputOp) and not _is_constant(v)]
        fed = {name_of(v): values[v] for v in inner}
        for name, value in network.inputs.items():
            if not inner or value in read:
                fed[name] = inputs[name]
            elif read & {*owner_of(value).results}:
                fed[name] = NOTHING
        model = compile([name_of(value) for op in layers for value in op.results], fed)
        found = model.run(fed)
        model.close()
        del model, fed
        values |= {value: found.pop(name_of(value)) for value in made}
        yield Piece(layers, values)
        readers.subtract(origin(operand) for op in layers for operand in op.operands)
        for value in [value for value in values if not readers[value]]:
            del values[value]


def _is_constant(value: SSAValue) -> bool:
    """Whether a value is a constant of the file. Each piece that reads it has its own."""
    return not isinstance(value.owner, InputOp) and not owner_of(value).operands


def owner_of(value: SSAValue) -> Layer:
    """The layer that makes a value."""
    owner = value.owner
    assert isinstance(owner, Layer)
    return owner


def _parted(
    layers: Sequence[Layer], sizes: Mapping[SSAValue, int], stay: set[SSAValue]
) -> Iterator[list[Layer]]:
    """The layers in pieces."""
    last = {origin(operand): op for op in layers for operand in op.operands}
    piece: list[Layer] = []
    bytes, open_values = 0, set[SSAValue]()
    for op in layers:
        more = sum(sizes.get(result, 0) for result in op.results)
        full = len(piece) >= MOST_LAYERS or bytes + more > MOST_BYTES
        if piece and full and not open_values:
            yield piece
            piece, bytes = [], 0
        piece.append(op)
        bytes += more
        open_values |= {result for result in op.results if result in stay and result in last}
        open_values -= {value for value in open_values if last[value] is op}
    if piece:
        yield piece
