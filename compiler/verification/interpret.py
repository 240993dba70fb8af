"""Run an ncnn module by the references of its layers: the oracle, and the bisector.

    interpret(module, {"data": x})                      # the outputs, by name
    interpret(module, {"data": x}, ["conv1", "prob"])   # any named blobs

Slow and plain: what every other way of running a network is compared with.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, ModuleOp
from xdsl.ir import SSAValue

from ncc.compiler.diagnostics import Unsupported
from ncc.dialects.ncnn.layer import Array, Layer, shape_of
from ncc.dialects.ncnn.network import Network
from ncc.dialects.ncnn.plumbing import InputOp
from ncc.runtime.errors import InputError

Compute: TypeAlias = Callable[[Layer, Sequence[Array]], list[Array]]


def interpret(
    module: ModuleOp, inputs: Mapping[str, Array], blobs: Sequence[str] | None = None
) -> dict[str, Array]:
    """The named blobs of a network, by default its outputs; arrays in numpy order.

    Layers behind the last blob asked for do not run. Raises `InputError` for an input that is
    missing, unknown or of another shape than the module says, and for a blob that nobody makes;
    `Unsupported` where a layer has no reference.
    """
    network = Network.of(module)
    values = blob_values(network)
    names = list(network.output_names) if blobs is None else list(blobs)
    for name in names:
        if name not in values:
            raise InputError.unknown_name("blob", name, values)
    wanted = {values[name] for name in names}
    computed: dict[SSAValue, Array] = {}
    for layer, results in run_layers(network, inputs):
        pairs = zip(layer.results, results, strict=True)
        computed.update((value, array) for value, array in pairs if value in wanted)
        if len(computed) == len(wanted):
            break
    return {name: computed[values[name]] for name in names}


def blob_values(network: Network) -> dict[str, SSAValue]:
    """Every named value; a network output's name is that of its result, whatever the layer says."""
    named = {
        blob: value
        for layer in network.layers
        for blob, value in zip(layer.blob_names, layer.results, strict=True)
        if blob
    }
    return {**named, **network.outputs}


def run_layers(
    network: Network, inputs: Mapping[str, Array], compute: Compute = Layer.reference_all
) -> Iterator[tuple[Layer, list[Array]]]:
    """Each layer with its results, in order; a value is forgotten after its last reader.

    compute: what a layer makes of arrays.
    """
    for name in inputs:
        if name not in network.inputs:
            raise InputError.unknown_name("input", name, network.inputs)
    values: dict[SSAValue, Array] = {}
    readers = Counter(operand for layer in network.layers for operand in layer.operands)
    for layer in network.layers:
        if isinstance(layer, InputOp):
            given = zip(layer.blob_names, layer.results, strict=True)
            results = [_fed(inputs, name, value) for name, value in given]
        else:
            results = _run(compute, layer, [values[operand] for operand in layer.operands])
        values.update(zip(layer.results, results, strict=True))
        readers.subtract(layer.operands)
        for value in (*layer.operands, *layer.results):
            if not readers[value]:
                values.pop(value, None)
        yield layer, results


def _run(compute: Compute, layer: Layer, arrays: Sequence[Array]) -> list[Array]:
    try:
        return compute(layer, arrays)
    except NotImplementedError as error:
        raise Unsupported(str(error), layer=layer.layer_name, line=layer.line or None) from error


def _fed(inputs: Mapping[str, Array], name: str, value: SSAValue) -> Array:
    if name not in inputs:
        raise InputError(f"the input {name!r} is missing", name)
    array = np.asarray(inputs[name])
    shape = shape_of(value)
    if shape is not None and (
        len(shape) != array.ndim
        or any(e not in (DYNAMIC_INDEX, n) for e, n in zip(shape, array.shape, strict=True))
    ):
        raise InputError(f"input {name!r} has the wrong shape", name, str(shape), str(array.shape))
    return array
