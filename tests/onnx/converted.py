"""Files that `ncc optimize` writes of an .onnx, run by the wheel of ncnn."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import onnx

from ncc.compiler.optimizer import optimize
from ncc.runtime.results import Array

Arrays = Mapping[str, Array]

TOLERANCE = 1e-4
"""A difference that is rounding, as a part of the largest value: ncnn has functions of its own."""


def io_names(path: str) -> tuple[list[str], list[str]]:
    """The names of the inputs and outputs of a model."""
    graph = onnx.load(path, load_external_data=False).graph
    held = {tensor.name for tensor in graph.initializer}
    inputs = [one.name for one in graph.input if one.name not in held]
    return inputs, [one.name for one in graph.output]


def check_converted(
    path: str,
    inputs: Arrays,
    outputs: Arrays,
    shapes: Mapping[str, tuple[int | None, ...]] | None = None,
) -> None:
    """Raise where the wheel does not make these outputs of these inputs, under the same names."""
    with tempfile.TemporaryDirectory() as folder:
        param, bin = (str(Path(folder, f"net.{kind}")) for kind in ("param", "bin"))
        optimize(path, None, param, bin, input_shapes=shapes)
        found = by_wheel(param, bin, inputs)
    # A recurrent layer has all of its states as blobs; those that nothing reads are outputs, too.
    assert set(found) >= set(outputs), f"{set(found)} instead of {set(outputs)}"
    for name, wanted in outputs.items():
        shape = without_batch(wanted).shape
        array = found[name]
        # The rank of a Mat is at most 4, and its wrapper drops nothing.
        assert array.shape == shape, f"{name} is {array.shape} instead of {shape}"
        apart = difference(array, without_batch(wanted))
        assert apart <= TOLERANCE, f"{name} is {apart:.1e} off"


def without_batch(array: Array) -> Array:
    """As ncnn has it: without a batch axis of 1, and with one axis at least."""
    if array.ndim > 1 and array.shape[0] == 1:
        return np.asarray(array[0])
    return np.atleast_1d(array)


def by_wheel(param: str, bin: str, inputs: Arrays) -> dict[str, Array]:
    """The outputs of files by name, as the wheel computes them in float32."""
    import ncnn

    net = ncnn.Net()
    net.opt.use_fp16_packed = net.opt.use_fp16_storage = net.opt.use_fp16_arithmetic = False
    net.opt.use_bf16_storage = False
    assert net.load_param(param) == 0 and net.load_model(bin) == 0, "ncnn does not load it"
    extractor = net.create_extractor()
    for name, array in inputs.items():
        # A Mat of an array does not keep it alive; its clone has memory of its own.
        held = np.ascontiguousarray(without_batch(array))
        assert extractor.input(name, ncnn.Mat(held).clone()) == 0, f"ncnn has no input {name}"
    found = {}
    for name in net.output_names():
        status, mat = extractor.extract(name)
        assert status == 0, f"ncnn cannot compute {name}"
        found[name] = np.array(mat)
    return found


def difference(ours: Array, theirs: Array) -> float:
    """The largest difference as a part of the largest value; infinite where only one has a
    number.
    """
    x, y = ours.astype(np.float64), theirs.astype(np.float64)
    odd = ~(np.isfinite(x) & np.isfinite(y))
    if not np.array_equal(x[odd], y[odd], equal_nan=True):
        return float("inf")
    apart = np.abs(x[~odd] - y[~odd]).max(initial=0.0)
    return float(apart / max(1.0, np.abs(y[~odd]).max(initial=0.0)))
