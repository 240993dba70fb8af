"""Runs an exported model through ncc, or through ncnn's wheel after `ncc optimize`."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ncc.compiler.diagnostics import NccError, Unsupported
from ncc.compiler.driver.compile import compile_with
from ncc.compiler.options import Options
from ncc.runtime.results import Array
from tests.onnx.torch_modules.export import Exported

LEVELS = (0, 2)

TOLERANCE = 2e-5
"""A difference that is rounding, as a part of the largest value."""


@dataclass(frozen=True)
class Outcome:
    """How a model went: "right", "refused", "not exported" or "WRONG", and why."""

    name: str
    kind: str
    why: str = ""

    def __str__(self) -> str:
        return f"{self.kind:12} {self.name}  {self.why}".rstrip()


def judged(model: Exported, ncnn: bool = False) -> Outcome:
    """Compile and run a model."""
    try:
        if ncnn:
            _check_in_ncnn(model)
        else:
            for level in LEVELS:
                _check(model, level)
    except Unsupported as error:
        return Outcome(model.name, "refused", _line(error))
    except (NccError, AssertionError) as error:
        kind = "WRONG" if ncnn or is_what_torch_makes(model) else "not exported"
        return Outcome(model.name, kind, f"{type(error).__name__}: {_line(error)}")
    except Exception as error:  # which is a finding, and no reason to end
        return Outcome(model.name, "WRONG", f"crash: {type(error).__name__}: {_line(error)}")
    return Outcome(model.name, "right")


def is_what_torch_makes(model: Exported) -> bool:
    """Whether onnxruntime makes of a model what torch does: exporters write some others."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    try:
        session = onnxruntime.InferenceSession(str(model.path), options)
        names = [one.name for one in session.get_inputs()]
        found = session.run(None, dict(zip(names, model.inputs, strict=True)))
        _compare(found, model.outputs, "onnxruntime")
    except Exception:  # its errors have no class in common
        return False
    return True


def _line(error: BaseException) -> str:
    return " ".join(str(error).split())[:400]


def _check(model: Exported, level: int) -> None:
    """Raise where ncc does not make what torch makes."""
    compiled = compile_with(str(model.path), None, Options.of(opt_level=level, tuned=False))
    names = [binding.name for binding in compiled.inputs]
    if len(names) != len(model.inputs):
        raise AssertionError(f"{len(names)} inputs instead of {len(model.inputs)}")
    found = compiled.run(dict(zip(names, model.inputs, strict=True)))
    _compare(list(found.values()), model.outputs, f"-O{level}")


def _compare(found: list[Array], wanted: list[Array], where: str) -> None:
    if len(found) != len(wanted):
        raise AssertionError(f"{where}: {len(found)} outputs instead of {len(wanted)}")
    for place, (ours, theirs) in enumerate(zip(found, wanted, strict=True)):
        if ours.dtype != theirs.dtype or ours.shape != theirs.shape:
            kinds = f"{ours.dtype} {ours.shape} instead of {theirs.dtype} {theirs.shape}"
            raise AssertionError(f"{where}: output {place} is {kinds}")
        apart = difference(ours, theirs)
        least = 2e-3 if theirs.dtype == np.float16 else TOLERANCE
        if apart > least:
            raise AssertionError(f"{where}: output {place} is {apart:.1e} off")


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


def _check_in_ncnn(model: Exported) -> None:
    """Raise where the wheel of ncnn, on files that ncc writes, does not make what torch makes."""
    from ncc.compiler.optimizer import optimize

    with tempfile.TemporaryDirectory() as folder:
        param, bin = (str(Path(folder, f"net.{kind}")) for kind in ("param", "bin"))
        optimize(str(model.path), None, param, bin, False)
        found = run_by_wheel(param, bin, model.inputs)
    wanted = [without_batch(array) for array in model.outputs]
    _compare([one.reshape(w.shape) for one, w in zip(found, wanted, strict=True)], wanted, "ncnn")


def without_batch(array: Array) -> Array:
    """As ncnn has it: without a batch axis of 1, and with one axis at least."""
    if array.ndim > 1 and array.shape[0] == 1:
        return np.asarray(array[0])
    return np.atleast_1d(array)


def run_by_wheel(param: str, bin: str, inputs: list[Array]) -> list[Array]:
    """The outputs of the files in their order, as the wheel computes them."""
    import ncnn

    net = ncnn.Net()
    net.opt.use_fp16_packed = net.opt.use_fp16_storage = net.opt.use_fp16_arithmetic = False
    net.opt.use_bf16_storage = False
    assert net.load_param(param) == 0 and net.load_model(bin) == 0
    extractor = net.create_extractor()
    for name, array in zip(net.input_names(), inputs, strict=True):
        # A Mat of an array does not keep it alive; its clone has memory of its own.
        held = np.ascontiguousarray(without_batch(array))
        extractor.input(name, ncnn.Mat(held).clone())
    found = []
    for name in net.output_names():
        status, mat = extractor.extract(name)
        assert status == 0, f"ncnn cannot compute {name}"
        found.append(np.array(mat))
    return found
