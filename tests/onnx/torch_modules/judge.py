"""Runs an exported model through ncc, or through ncnn's wheel after `ncc optimize`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ncc.compiler.diagnostics import NccError, Unsupported
from ncc.compiler.driver.compile import compile_with
from ncc.compiler.options import Options
from ncc.runtime.results import Array
from tests.onnx.converted import check_converted, difference, io_names
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
            names = io_names(str(model.path))
            fed = dict(zip(names[0], model.inputs, strict=True))
            check_converted(str(model.path), fed, dict(zip(names[1], model.outputs, strict=True)))
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
