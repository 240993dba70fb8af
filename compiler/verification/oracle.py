"""What ncnn itself computes: a network run by the `ncnn` wheel, in a process of its own.

The wheel can crash, or wait for ever, on a file that it does not expect, so that a caller only
talks to it through `run` and `run_all`. This file is both ends: the functions that are imported,
and the worker (`python -m ncc.compiler.verification.oracle`) that reads requests from stdin and
answers each in files.

ncnn runs in plain fp32: half precision (on by default, it loses three digits in InnerProduct) is
off, and so is light mode, which frees a blob after its first reader, where several blobs are asked
for.
"""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ncc.compiler.diagnostics import NccError, Unsupported
from ncc.runtime.paths import PathLike

__all__ = ["Job", "OracleError", "Step", "available", "run", "run_all", "run_steps"]

Array: TypeAlias = NDArray[Any]

# A request and its answer, inside a folder that caller and worker share. Arrays go by position,
# since a blob may have a name that a zip file or a keyword cannot hold.
INPUTS, OUTPUTS, NAMES = "inputs.npz", "outputs.npz", "names.json"
SAID, REFUSAL = "said.txt", "refusal.txt"


class OracleError(NccError):
    """The ncnn wheel did not run the network: it refused the file, crashed or took too long."""


def available() -> bool:
    """Whether the `ncnn` wheel is installed."""
    return importlib.util.find_spec("ncnn") is not None


@dataclass(frozen=True)
class Step:
    """A part of a network that is run by itself: the blobs that it is fed, each with the name of
    its array among the inputs of the job, and those that it makes.
    """

    reads: Mapping[str, str]
    makes: Sequence[str]


@dataclass(frozen=True)
class Job:
    """A network to run and what it is fed; see `run`. steps: parts of it, each run by itself."""

    param: PathLike
    bin: PathLike
    inputs: Mapping[str, Array]
    blobs: Sequence[str] | None = None
    steps: Sequence[Step] | None = None


def run(
    param: PathLike,
    bin: PathLike,
    inputs: Mapping[str, Array],
    blobs: Iterable[str] | None = None,
    *,
    timeout: float = 600,
) -> dict[str, Array]:
    """The values of `blobs` (all of them when None) that ncnn computes from `inputs`.

    param, bin: a text .param and its weights. inputs: arrays by blob name; shapes here and in the
    result are numpy's, (w), (h, w), (c, h, w) or (c, d, h, w), of a batch with the samples along a
    first axis. Results are float32, int8 blobs too; those of 16 bits are float16, whatever the bits
    mean. A blob of no elements (no object detected) has shape (0,). timeout: in seconds.

    Raises Unsupported when the wheel is not installed, OracleError when it fails.
    """
    return _only(Job(param, bin, inputs, None if blobs is None else list(blobs)), timeout)


def run_steps(
    param: PathLike,
    bin: PathLike,
    inputs: Mapping[str, Array],
    steps: Sequence[Step],
    *,
    timeout: float = 600,
) -> dict[str, Array]:
    """What ncnn makes of each step by itself; otherwise as `run`."""
    return _only(Job(param, bin, inputs, steps=steps), timeout)


def _only(job: Job, timeout: float) -> dict[str, Array]:
    [answer] = run_all([job], timeout=timeout)
    if isinstance(answer, OracleError):
        raise answer
    return answer


def run_all(jobs: Sequence[Job], *, timeout: float = 600) -> list[dict[str, Array] | OracleError]:
    """What `run` gives or raises for each of many jobs.

    One process runs them, until something crashes it or `timeout` seconds are over: another goes on
    with what has no answer. Who crashes as the first of a process has failed; behind others it may
    be they who wrote where they must not.

    Raises Unsupported when the wheel is not installed.
    """
    if not available():
        raise Unsupported("a run by ncnn without ncnn", how="pip install 'ncnn-compiler[verify]'")
    with tempfile.TemporaryDirectory(prefix="ncc-oracle-") as folder:
        places = [Path(folder, str(number)) for number in range(len(jobs))]
        requests = [_request(job, place) for job, place in zip(jobs, places, strict=True)]
        errors: dict[Path, OracleError] = {}
        while waiting := [k for k, place in enumerate(places) if not _done(place, errors)]:
            cause = work(json.dumps([requests[k] for k in waiting]), timeout)
            first = places[waiting[0]]
            if not _done(first, errors):
                errors[first] = _error(cause or "ncnn ended without an answer", first)
        return [errors[place] if place in errors else _read(place) for place in places]


def _request(job: Job, place: Path) -> dict[str, Any]:
    place.mkdir()
    np.savez(place / INPUTS, *job.inputs.values())
    return {
        "folder": os.fspath(place),
        "param": os.fspath(job.param),
        "bin": os.fspath(job.bin),
        "inputs": list(job.inputs),
        "blobs": None if job.blobs is None else list(job.blobs),
        "steps": None
        if job.steps is None
        else [[dict(step.reads), list(step.makes)] for step in job.steps],
    }


def _done(place: Path, errors: Mapping[Path, OracleError]) -> bool:
    return place in errors or (place / NAMES).exists() or (place / REFUSAL).exists()


def _read(place: Path) -> dict[str, Array] | OracleError:
    refusal = place / REFUSAL
    if refusal.exists():
        return _error("ncnn failed", place, refusal.read_text())
    names = json.loads((place / NAMES).read_text())
    return dict(zip(names, _arrays(place, OUTPUTS), strict=True))


def _error(cause: str, place: Path, *lines: str) -> OracleError:
    """An error with the last words of ncnn."""
    said = place / SAID
    last = said.read_text(errors="replace").strip().splitlines()[-5:] if said.exists() else []
    return OracleError("\n  ".join([cause, *last, *lines]))


def work(requests: str, timeout: float) -> str | None:
    """Run the worker to its end: what ended it before it had answered all requests, if anything."""
    # The worker finds ncc and ncnn where this process found them.
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-m", "ncc.compiler.verification.oracle"]
    try:
        done = subprocess.run(
            command,
            input=requests,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout,
            env=environment,
        )
    except subprocess.TimeoutExpired:
        return f"ncnn did not finish within {timeout:g} seconds"
    if done.returncode < 0:
        return f"ncnn crashed ({signal.Signals(-done.returncode).name})"
    return "\n  ".join(["ncnn failed", done.stderr]) if done.returncode else None


def _arrays(folder: Path, name: str) -> list[Array]:
    with np.load(folder / name) as stored:
        return [stored[key] for key in stored.files]


def _answer_all(requests: Sequence[Mapping[str, Any]]) -> None:
    """The worker's side: an answer or a refusal in the folder of each request."""
    for request in requests:
        folder = Path(request["folder"])
        with (folder / SAID).open("wb") as said:
            os.dup2(said.fileno(), sys.stderr.fileno())
        try:
            _answer(request)
        except _Refused as refusal:
            (folder / REFUSAL).write_text(str(refusal))


class _Refused(Exception):
    """ncnn says no; with what it says no to."""


def _answer(request: Mapping[str, Any]) -> None:
    """Run ncnn and write the blobs into the folder of the request."""
    import ncnn

    net = ncnn.Net()
    net.opt.lightmode = request["steps"] is not None or len(request["blobs"] or "") == 1
    net.opt.num_threads = 1
    net.opt.use_fp16_packed = False
    net.opt.use_fp16_storage = False
    net.opt.use_fp16_arithmetic = False
    if net.load_param(request["param"]) != 0:
        raise _Refused(f"it refuses {request['param']}")
    if net.load_model(request["bin"]) != 0:
        raise _Refused(f"it refuses the weights {request['bin']}")
    folder = Path(request["folder"])
    inputs = dict(zip(request["inputs"], _arrays(folder, INPUTS), strict=True))
    steps = request["steps"]
    if steps is None:
        names = request["blobs"]
        if names is None:
            names = list(dict.fromkeys(blob.name for blob in net.blobs()))
        steps = [({name: name for name in inputs}, names)]
    made: dict[str, Array] = {}
    for reads, names in steps:
        given = {blob: inputs[name] for blob, name in reads.items()}
        made |= zip(names, _extracted(net, given, names), strict=True)
    np.savez(folder / OUTPUTS, *made.values())
    # The last of the files, since it says that the answer is whole.
    (folder / NAMES).write_text(json.dumps(list(made)))


def _extracted(net: Any, inputs: Mapping[str, Array], names: Sequence[str]) -> Iterable[Array]:
    """The named blobs that a network makes of these inputs."""
    import ncnn

    extractor = net.create_extractor()
    for name, array in inputs.items():
        # A clone, since layers that work in place crash on memory that ncnn does not own. Of an
        # array without elements (an empty cache) ncnn makes no Mat.
        plain = np.ascontiguousarray(array)
        if extractor.input(name, ncnn.Mat(plain).clone() if plain.size else ncnn.Mat()) != 0:
            raise _Refused(f"it has no input {name!r}")
    for name in names:
        status, mat = extractor.extract(name)
        if status != 0:
            raise _Refused(f"it cannot compute blob {name!r}")
        yield _array(mat)


def _array(mat: Any) -> Array:
    """The elements of an `ncnn.Mat`; an array of it has one sample of a batch alone."""
    if not mat.total():
        return np.zeros(0, np.float32)
    if mat.n > 1:
        return np.stack([np.array(mat.batch(sample)) for sample in range(mat.n)])
    return np.array(mat)


if __name__ == "__main__":
    _answer_all(json.load(sys.stdin))
