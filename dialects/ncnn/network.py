"""A module as a network: its layers, and its inputs and outputs by name.

Inputs and outputs keep their names here. So every pass may remove a layer, where renaming its blob
would change the interface of the network.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from ncc.dialects.element import element_of, is_integer
from ncc.dialects.ncnn.layer import Layer, text_of
from ncc.dialects.ncnn.plumbing import InputOp, SplitOp
from ncc.dialects.operation import ops_of


@dataclass(frozen=True)
class Network:
    """The function of a network. Everything is read from the IR when it is asked for."""

    function: FuncOp

    @staticmethod
    def of(module: ModuleOp) -> Network:
        """The one function of layers in a module.

        Raises `VerifyException` where there is none, or more than one.
        """
        functions = [op for op in module.ops if isinstance(op, FuncOp) and not op.is_declaration]
        if len(functions) != 1:
            raise VerifyException(f"a network is one function, not {len(functions)}")
        return Network(functions[0])

    @property
    def layers(self) -> list[Layer]:
        """The layers in order."""
        return [op for op in ops_of(self.function.body.block) if isinstance(op, Layer)]

    @property
    def terminator(self) -> ReturnOp:
        """The return of the outputs."""
        last = self.function.body.block.last_op
        if not isinstance(last, ReturnOp):
            raise VerifyException("the function of a network ends in func.return")
        return last

    @property
    def inputs(self) -> Mapping[str, SSAValue]:
        """The inputs of the network, by the names of the blobs."""
        given = [op for op in self.layers if isinstance(op, InputOp)]
        return {b: r for op in given for b, r in zip(op.blob_names, op.results, strict=True)}

    @property
    def output_names(self) -> Sequence[str]:
        """The names of the returned values, from the function's `outputs`."""
        names = self.function.attributes.get("outputs")
        count = len(self.terminator.operands)
        if not isinstance(names, ArrayAttr) or len(names) != count:
            raise VerifyException(f"the function of a network names its {count} `outputs`")
        return list(map(text_of, names))

    @property
    def outputs(self) -> Mapping[str, SSAValue]:
        """The returned values by name; two names may have one value."""
        return dict(zip(self.output_names, self.terminator.operands, strict=True))

    def return_only(self, values: Mapping[str, SSAValue]) -> None:
        """Let these values be the outputs, under these names."""
        self.terminator.operands = list(values.values())
        self.function.attributes["outputs"] = ArrayAttr([StringAttr(name) for name in values])
        self.function.update_function_type()

    @property
    def needed(self) -> set[Operation]:
        """The layers that the outputs depend on."""
        return self.needed_without(())

    def needed_without(self, readers: Collection[Operation]) -> set[Operation]:
        """The same, as if some layers read nothing."""
        found: set[Operation] = {self.terminator}
        for layer in reversed(self.layers):
            read_by = {use.operation for result in layer.results for use in result.uses}
            if not found.isdisjoint(read_by.difference(readers)):
                found.add(layer)
        return found - {self.terminator}

    @property
    def source(self) -> str | None:
        """The path of the .param file, where the reader left it."""
        module = self.function.parent_op()
        for op in (self.function, module):
            path = None if op is None else op.attributes.get("source")
            if path is not None:
                return text_of(path)
        return None


def implied_inputs(network: Network) -> set[str]:
    """The inputs whose shapes the layers that read them tell where nobody else does, by name."""
    return _read_as(network, lambda layer: layer.implied())


def settling_inputs(network: Network) -> set[str]:
    """The inputs of which the values decide shapes, to any reader of theirs, by name."""

    settling: set[SSAValue] = set()
    for layer in reversed(network.layers):
        settling.update(layer.operands[position] for position in layer.settling())
        folds = layer.FOLDS or isinstance(layer, SplitOp)
        if folds and any(result in settling for result in layer.results):
            settling.update(layer.operands)
    found = {name: value for name, value in network.inputs.items() if value in settling}
    return {name for name, value in found.items() if _is_like_a_shape(value)}


def _is_like_a_shape(value: SSAValue) -> bool:
    """Whether an input may be numbers that decide shapes, and no image."""
    op = value.owner
    if not isinstance(op, InputOp) or not op.TYPED:
        return True
    return is_integer(element_of(value)) or (op.stated is not None and len(op.stated) <= 1)


CACHE_RANK, CACHE_ROWS = 3, 1
"""Caches are (heads, rows, features): how many axes they have, and which one has the rows."""


def caches(network: Network) -> set[str]:
    """The inputs that may be empty, by name."""
    return _read_as(network, lambda layer: layer.caches())


def _read_as(network: Network, positions: Callable[[Layer], Collection[int]]) -> set[str]:
    """The inputs of which every reader, behind Splits, has them at one of its positions."""

    def read_so(reader: Operation | None, position: int) -> bool:
        return isinstance(reader, Layer) and position in positions(reader)

    return {
        name
        for name, value in network.inputs.items()
        if all(read_so(*read) for read in _readers(value))
    }


def _readers(value: SSAValue) -> Iterator[tuple[Operation | None, int]]:
    """Who reads a value at which position, behind Splits, of which there may be thousands in a row;
    None where nobody reads it, or a part of a Split.
    """
    left = [value]
    while left:
        value = left.pop()
        if not value.uses:
            yield None, 0
        for use in value.uses:
            if isinstance(use.operation, SplitOp):
                left.extend(use.operation.results)
            else:
                yield use.operation, use.index
