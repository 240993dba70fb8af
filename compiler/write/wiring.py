"""Values with any number of readers -> blobs with one reader each, all of them named.

    %a = A()                          A      a   0 1 a
    %b = B(%a)                        Split  splitncnn_0  1 3 a  a_splitncnn_0 a_splitncnn_1 out
    %c = C(%a)                  ->    B      b   1 1 a_splitncnn_0 b
    return "out" = %a, ...            C      c   1 1 a_splitncnn_1 c

ncnn frees a blob after its first reader, and an output is a blob that nobody reads; so whatever is
used twice goes through a Split. Inputs and outputs of the network keep their names. An output that
is an input goes through a Split as well, since a blob has one name.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from xdsl.dialects.func import ReturnOp
from xdsl.ir import SSAValue

from ncc.compiler.diagnostics import CompilerBug, Unsupported
from ncc.compiler.write.names import Names, check_name
from ncc.dialects.ncnn.layer import Layer, Shape, stated_shape
from ncc.dialects.ncnn.network import Network
from ncc.dialects.ncnn.plumbing import InputOp

SPLIT = "splitncnn"

Reader: TypeAlias = tuple[Layer, int]
"""A layer, and the position of one of its operands."""


@dataclass(frozen=True)
class Line:
    """One layer of the file to be: its names, and the op it comes from; a Split of ours has none.

    shapes: of the outputs, in numpy order; None where one is not known.
    """

    op: Layer | None
    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    shapes: tuple[Shape | None, ...]


def wire(network: Network) -> list[Line]:
    """The layers of a network in order, with the Splits that they need.

    Raises `Unsupported` where the format has no way to name something, `CompilerBug` for a module
    whose layers are out of order or whose outputs are not named one by one.
    """
    return list(_Wiring(network).lines())


@dataclass
class _Wiring:
    """The names given so far."""

    network: Network
    layer_names: Names = field(init=False)
    blob_names: Names = field(init=False)
    splits: int = 0
    outputs: dict[SSAValue, list[str]] = field(default_factory=dict)
    place: dict[Layer, int] = field(default_factory=dict)
    waiting: dict[Reader, str] = field(default_factory=dict)
    """The blob that a layer reads at a position."""

    def __post_init__(self) -> None:
        layers = self.network.layers
        self.place.update((layer, number) for number, layer in enumerate(layers))
        names = list(self.network.output_names)
        if len(set(names)) != len(names):
            raise CompilerBug(f"two outputs have one name: {', '.join(names)}")
        for name, value in zip(names, self.network.terminator.operands, strict=True):
            check_name(name)
            self.outputs.setdefault(value, []).append(name)
        inputs = list(self.network.inputs)
        self.layer_names = Names(layer.layer_name for layer in layers)
        wished = (blob for layer in layers for blob in layer.blob_names)
        self.blob_names = Names(wished, [name for name in (*inputs, *names) if name])

    def lines(self) -> Iterator[Line]:
        for op in self.network.layers:
            name = self.layer_names.named(op.layer_name, f"{op.type_name.lower()}_0")
            inputs = tuple(self._read(op, position) for position in range(len(op.operands)))
            splits: list[Line] = []
            outputs = tuple(
                self._made(op, blob, name, result, splits)
                for blob, result in zip(op.blob_names, op.results, strict=True)
            )
            yield Line(op, name, inputs, outputs, tuple(map(stated_shape, op.results)))
            yield from splits

    def _read(self, op: Layer, position: int) -> str:
        if (op, position) not in self.waiting:
            raise CompilerBug(f"layer {op.layer_name!r} stands before what it reads")
        return self.waiting.pop((op, position))

    def _made(self, op: Layer, blob: str, layer: str, value: SSAValue, splits: list[Line]) -> str:
        """The name of the blob that holds a value; a Split behind it if it is used twice.

        An unnamed blob is called after the layer.
        """
        outputs = self.outputs.get(value, [])
        readers = sorted(_readers(value), key=lambda r: (self.place[r[0]], r[1]))
        if isinstance(op, InputOp):
            name = self._input_name(blob, outputs, len(readers))
            direct = not outputs or outputs == [name]
        else:
            direct = len(outputs) + len(readers) <= 1
            if direct and outputs:
                name = outputs[0]
            elif blob in outputs:  # the Split's blob that nobody reads gets the name
                name = self.blob_names.invent(f"{blob}_{SPLIT}")
            else:
                name = self.blob_names.named(blob, layer)
        if direct and len(readers) <= 1:
            self.waiting.update((reader, name) for reader in readers)
        else:
            splits.append(self._split(name, value, readers, outputs))
        return name

    def _input_name(self, blob: str, outputs: Sequence[str], readers: int) -> str:
        """An input is called what it was called, whatever becomes of it."""
        check_name(blob)
        if blob not in self.network.inputs:
            raise CompilerBug("an input of the network has no name")
        if blob in outputs and (readers or len(outputs) > 1):
            raise Unsupported(
                f"an input {blob!r} that layers read and that is an output under the same name",
                how="leave it out of the outputs: the caller has it",
            )
        return blob

    def _split(
        self,
        blob: str,
        value: SSAValue,
        readers: Sequence[Reader],
        outputs: Sequence[str],
    ) -> Line:
        names = []
        for number, reader in enumerate(readers):
            name = self.blob_names.invent(f"{blob}_{SPLIT}_{number}")
            self.waiting[reader] = name
            names.append(name)
        name = self.layer_names.invent(f"{SPLIT}_{self.splits}")
        self.splits += 1
        names += outputs
        return Line(None, name, (blob,), tuple(names), (stated_shape(value),) * len(names))


def _readers(value: SSAValue) -> list[Reader]:
    """Everything that reads a value, in no order; a return is none."""
    found = []
    for use in value.uses:
        if isinstance(use.operation, Layer):
            found.append((use.operation, use.index))
        elif not isinstance(use.operation, ReturnOp):
            raise CompilerBug(f"a value of the network is read by {use.operation.name}")
    return found
