"""ncc: an MLIR-style compiler for ncnn networks.

    model = ncc.compile("net.param")        # net.bin beside it
    y = model(x)                            # float32 arrays in numpy order, no batch axis
    model.save("net.ncc")
    model = ncc.load("net.ncc")             # needs no compiler
    ncc.optimize("net.param", "net.bin", "small.param", "small.bin")    # for ncnn to run

Names are imported when they are first used, so that `import ncc` and the loading of a compiled
model stay quick.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ncc import dask, image
    from ncc.compiler.diagnostics import CompilerBug, ModelError, ModelWarning, Unsupported
    from ncc.compiler.driver.compile import compile
    from ncc.compiler.driver.specialise import OpenModel
    from ncc.compiler.optimizer import OptimizeReport, optimize
    from ncc.compiler.options import Options
    from ncc.runtime.errors import ArtifactError, InputError, NccError
    from ncc.runtime.session import Model
    from ncc.runtime.tiled import Tiled, tiled

    load = Model.load

__version__ = "0.1.0"

__all__ = [
    "ArtifactError",
    "CompilerBug",
    "InputError",
    "Model",
    "ModelError",
    "ModelWarning",
    "NccError",
    "OpenModel",
    "OptimizeReport",
    "Options",
    "Tiled",
    "Unsupported",
    "compile",
    "dask",
    "image",
    "load",
    "optimize",
    "tiled",
]

_HOMES = {
    "ArtifactError": "ncc.runtime.errors",
    "CompilerBug": "ncc.compiler.diagnostics",
    "InputError": "ncc.runtime.errors",
    "Model": "ncc.runtime.session",
    "ModelError": "ncc.compiler.diagnostics",
    "ModelWarning": "ncc.compiler.diagnostics",
    "NccError": "ncc.runtime.errors",
    "OpenModel": "ncc.compiler.driver.specialise",
    "OptimizeReport": "ncc.compiler.optimizer",
    "Options": "ncc.compiler.options",
    "Tiled": "ncc.runtime.tiled",
    "Unsupported": "ncc.compiler.diagnostics",
    "compile": "ncc.compiler.driver.compile",
    "optimize": "ncc.compiler.optimizer",
    "tiled": "ncc.runtime.tiled",
}

_MODULES = {"dask": "dask", "image": "image"}
"""Modules of ncc, and the extras of the distribution that bring what they need."""


def __getattr__(name: str) -> Any:
    if name == "load":
        value = __getattr__("Model").load
    elif name in _MODULES:
        from ncc.runtime.errors import needing_packages

        with needing_packages(f"ncc.{name}", _MODULES[name]):
            value = import_module(f"ncc.{name}")
    elif name in _HOMES:
        from ncc.runtime.errors import needing_packages

        with needing_packages(f"ncc.{name}"):
            value = getattr(import_module(_HOMES[name]), name)
    else:
        raise AttributeError(f"module 'ncc' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
