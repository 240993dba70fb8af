"""What ncnn itself computes: a network run by the `ncnn` wheel, in a process of its own.

The wheel can crash, or wait for ever, on a file that it does not expect, so that a caller only
talks to it through `run`. This file is both ends: the functions that are imported, and the worker
(`python -m ncc.compiler.oracle`) that reads a request from stdin and answers in a file.

ncnn runs in plain fp32: half precision (on by default, it loses three digits in InnerProduct) is
off, and so is light mode, which frees a blob after its first reader.
"""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ncc.compiler.diagnostics import NccError, Unsupported

__all__ = ["OracleError", "available", "run"]

Array: TypeAlias = NDArray[np.float32]
PathLike: TypeAlias = str | os.PathLike[str]

# The request and the answer, inside a folder that caller and worker share. Arrays go by position,
# since a blob may have a name that a zip file or a keyword cannot hold.
INPUTS, OUTPUTS, NAMES = "inputs.npz", "outputs.npz", "names.json"


class OracleError(NccError):
    """The ncnn wheel did not run the network: it refused the file, crashed or took too long."""


def available() -> bool:
    """Whether the `ncnn` wheel is installed."""
    return importlib.util.find_spec("ncnn") is not None


def run(
    param: PathLike,
    bin: PathLike,
    inputs: Mapping[str, Array],
    blobs: Iterable[str] | None = None,
    *,
    timeout: float = 600,
) -> dict[str, Array]:
    """The values of `blobs` (all of them when None) that ncnn computes from `inputs`.

    param, bin: a text .param and its weights. inputs: float32 arrays by blob name; shapes here and
    in the result are numpy's, (w), (h, w), (c, h, w) or (c, d, h, w). A blob of no elements (no
    object detected) has shape (0,). timeout: in seconds.

    Raises Unsupported when the wheel is not installed, OracleError when it fails.
    """
    if not available():
        raise Unsupported("a run by ncnn without ncnn", how="pip install 'ncc[verify]'")
    with tempfile.TemporaryDirectory(prefix="ncc-oracle-") as folder:
        np.savez(Path(folder, INPUTS), *inputs.values())
        request = {
            "folder": folder,
            "param": os.fspath(param),
            "bin": os.fspath(bin),
            "inputs": list(inputs),
            "blobs": None if blobs is None else list(blobs),
        }
        _work(json.dumps(request), timeout)
        names = json.loads(Path(folder, NAMES).read_text())
        return dict(zip(names, _arrays(folder, OUTPUTS), strict=True))


def _work(request: str, timeout: float) -> None:
    """Run the worker to its end, or raise OracleError."""
    # The worker finds ncc and ncnn where this process found them.
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-m", "ncc.compiler.oracle"]
    try:
        done = subprocess.run(
            command,
            input=request,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout,
            env=environment,
        )
    except subprocess.TimeoutExpired:
        raise OracleError(f"ncnn did not finish within {timeout:g} seconds") from None
    if done.returncode < 0:
        cause = f"ncnn crashed ({signal.Signals(-done.returncode).name})"
    elif done.returncode > 0:
        cause = "ncnn failed"
    else:
        return
    raise OracleError("\n  ".join([cause, *done.stderr.strip().splitlines()[-5:]]))


def _arrays(folder: str, name: str) -> list[Array]:
    with np.load(Path(folder, name)) as stored:
        return [stored[key] for key in stored.files]


def _answer(request: Mapping[str, Any]) -> None:
    """The worker's side: run ncnn and write the blobs into the folder of the request."""
    import ncnn

    net = ncnn.Net()
    net.opt.lightmode = False
    net.opt.num_threads = 1
    net.opt.use_fp16_packed = False
    net.opt.use_fp16_storage = False
    net.opt.use_fp16_arithmetic = False
    if net.load_param(request["param"]) != 0:
        sys.exit(f"it refuses {request['param']}")
    if net.load_model(request["bin"]) != 0:
        sys.exit(f"it refuses the weights {request['bin']}")
    extractor = net.create_extractor()
    folder = request["folder"]
    for name, array in zip(request["inputs"], _arrays(folder, INPUTS), strict=True):
        # A clone, since layers that work in place crash on memory that ncnn does not own.
        if extractor.input(name, ncnn.Mat(np.ascontiguousarray(array)).clone()) != 0:
            sys.exit(f"it has no input {name!r}")
    names = request["blobs"]
    if names is None:
        names = list(dict.fromkeys(blob.name for blob in net.blobs()))
    outputs = []
    for name in names:
        status, mat = extractor.extract(name)
        if status != 0:
            sys.exit(f"it cannot compute blob {name!r}")
        outputs.append(np.array(mat, np.float32) if mat.total() else np.zeros(0, np.float32))
    np.savez(Path(folder, OUTPUTS), *outputs)
    Path(folder, NAMES).write_text(json.dumps(names))


if __name__ == "__main__":
    _answer(json.load(sys.stdin))
