"""Measures ncc beside other systems, on the same network and arrays.

The systems run in turns, each in a process of its own, and compute in fp32. ncnn reads the
network's own files. onnxruntime and OpenVINO need the network as .onnx too.

This file has both ends. `compare` asks; the worker (`python -m ncc.compiler.measure.peers`) reads
one request a line from stdin, and answers each with one line.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TypeAlias, Unpack

import numpy as np
from numpy.typing import NDArray

from ncc.compiler.diagnostics import NccError
from ncc.compiler.measure.timing import BURST_MILLISECONDS, ROUNDS, Timing, burst
from ncc.compiler.options import Compiling, Options
from ncc.compiler.progress import counted
from ncc.compiler.read.default_path import default_bin_path
from ncc.compiler.read.read_network import read
from ncc.compiler.write.weights import write_weights
from ncc.dialects.ncnn.network import Network
from ncc.runtime.file_kinds import is_onnx
from ncc.runtime.paths import PathLike

Feeds: TypeAlias = Mapping[str, NDArray[Any]]


@dataclass(frozen=True)
class Task:
    """The network and the arrays that every system runs.

    bin: None for an .onnx, which ncnn cannot read. arrays: an .npz with the arrays for `inputs`, by
    position. onnx: None if there is no .onnx. options: of ncc's `compile`.
    """

    param: str
    bin: str | None
    inputs: Sequence[str]
    arrays: str
    outputs: Sequence[str]
    threads: int
    onnx: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Peer:
    """The times of one system, or the reason why there are none."""

    system: str
    time: Timing | None
    reason: str | None = None


class System(ABC):
    """One system with a network loaded. It needs `module`, which the command `install` installs."""

    module = ""
    install = ""
    needs_onnx = False
    needs_bin = False

    @abstractmethod
    def __init__(self, task: Task, feeds: Feeds) -> None: ...

    @abstractmethod
    def run(self) -> object:
        """One run on the arrays that were given before."""


class Ncc(System):
    module = "ncc"

    def __init__(self, task: Task, feeds: Feeds) -> None:
        from ncc.compiler.driver import compile as front

        self.feeds = feeds
        chosen = {**task.options, "num_threads": task.threads, "outputs": task.outputs}
        self.model = front.compile(task.param, task.bin, **chosen)

    def run(self) -> object:
        return self.model.run(self.feeds)


class Ncnn(System):
    """ncnn in fp32, set up as in its own benchmark."""

    module = "ncnn"
    install = "pip install 'ncnn-compiler[verify]'"
    needs_bin = True

    def __init__(self, task: Task, feeds: Feeds) -> None:
        import ncnn

        ncnn.set_omp_dynamic(0)
        ncnn.set_omp_num_threads(task.threads)
        self.net = ncnn.Net()
        options = self.net.opt
        options.lightmode = True
        options.num_threads = task.threads
        options.use_fp16_packed = options.use_fp16_storage = options.use_fp16_arithmetic = False
        self.allocators = ncnn.UnlockedPoolAllocator(), ncnn.PoolAllocator()
        options.blob_allocator, options.workspace_allocator = self.allocators
        if self.net.load_param(task.param) != 0 or self.net.load_model(task.bin) != 0:
            raise NccError(f"ncnn refuses {task.param}")
        self.outputs = task.outputs
        self.feeds = [
            (name, ncnn.Mat(np.ascontiguousarray(array)).clone()) for name, array in feeds.items()
        ]

    def run(self) -> object:
        extractor = self.net.create_extractor()
        for name, array in self.feeds:
            extractor.input(name, array)
        return [extractor.extract(name) for name in self.outputs]


class OnnxRuntime(System):
    """onnxruntime with all of its optimizations; inputs are bound once."""

    module = "onnxruntime"
    install = "pip install 'ncnn-compiler[onnx]'"
    needs_onnx = True

    def __init__(self, task: Task, feeds: Feeds) -> None:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = task.threads
        options.inter_op_num_threads = 1
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
        options.log_severity_level = 3
        self.session = onnxruntime.InferenceSession(
            task.onnx, options, providers=["CPUExecutionProvider"]
        )
        self.binding = self.session.io_binding()
        inputs = {found.name: len(found.shape) for found in self.session.get_inputs()}
        self.values = {
            name: onnxruntime.OrtValue.ortvalue_from_numpy(array)
            for name, array in _batched(feeds, inputs).items()
        }
        for name, value in self.values.items():
            self.binding.bind_ortvalue_input(name, value)
        for found in self.session.get_outputs():
            self.binding.bind_output(found.name, "cpu")

    def run(self) -> object:
        return self.session.run_with_iobinding(self.binding)


class OpenVino(System):
    """OpenVINO in fp32, with the hint for latency."""

    module = "openvino"
    install = "pip install openvino"
    needs_onnx = True

    def __init__(self, task: Task, feeds: Feeds) -> None:
        import openvino

        core = openvino.Core()
        properties = {
            "PERFORMANCE_HINT": "LATENCY",
            "INFERENCE_NUM_THREADS": task.threads,
            "NUM_STREAMS": 1,
            "ENABLE_CPU_PINNING": False,
            "INFERENCE_PRECISION_HINT": "f32",
        }
        network = core.read_model(task.onnx)
        inputs = {found.get_any_name(): len(found.get_partial_shape()) for found in network.inputs}
        arrays = _batched(feeds, inputs)
        if network.is_dynamic():
            network.reshape({name: array.shape for name, array in arrays.items()})
        self.request = core.compile_model(network, "CPU", properties).create_infer_request()
        self.tensors = {name: openvino.Tensor(array.copy()) for name, array in arrays.items()}
        for name, tensor in self.tensors.items():
            self.request.set_tensor(name, tensor)

    def run(self) -> object:
        return self.request.infer()


SYSTEMS: Mapping[str, type[System]] = {
    "ncc": Ncc,
    "ncnn": Ncnn,
    "onnxruntime": OnnxRuntime,
    "openvino": OpenVino,
}


def _batched(feeds: Feeds, ranks: Mapping[str, int]) -> dict[str, NDArray[Any]]:
    """The arrays for the inputs of an .onnx, which has a batch axis in front."""
    arrays = {}
    for name, rank in ranks.items():
        if name not in feeds and len(feeds) > 1:
            raise NccError(f"the .onnx has an input {name!r}, and the network has none")
        array = feeds.get(name, next(iter(feeds.values())))
        arrays[name] = array[None] if array.ndim == rank - 1 else array
    return arrays


def compare_network(
    param: PathLike,
    bin: PathLike | None,
    feeds: Feeds,
    outputs: Sequence[str],
    /,
    *,
    onnx: PathLike | None = None,
    rounds: int = ROUNDS,
    **options: Unpack[Compiling],
) -> list[Peer]:
    """Measure all systems on one network and `feeds`. Random weights go to a temporary file.

    options: of ncc's `compile`; raises what it raises where one is wrong.
    """
    chosen = Options.of(**options)
    seed = options.pop("random_weights", None)
    with tempfile.TemporaryDirectory(prefix="ncc-bench-") as folder:
        stored = Path(folder, "weights.bin") if seed is not None else bin
        if seed is not None:
            network = Network.of(read(param, random_weights=seed).module)
            with Path(folder, "weights.bin").open("wb") as file:
                write_weights(network.layers, file)
        arrays = Path(folder, "inputs.npz")
        np.savez(arrays, *feeds.values())
        task = Task(
            os.path.abspath(param),
            _bin_path(param, stored),
            list(feeds),
            os.fspath(arrays),
            list(outputs),
            chosen.num_threads,
            None if onnx is None else os.path.abspath(onnx),
            {**options},
        )
        return compare(task, rounds)


def compare(task: Task, rounds: int, systems: Sequence[str] = tuple(SYSTEMS)) -> list[Peer]:
    """Run the systems in turns, one burst each in every round. One that cannot run says why."""
    workers: dict[str, _Worker] = {}
    peers: dict[str, Peer] = {}
    try:
        for system in systems:
            reason = _why_not(SYSTEMS[system], task)
            if reason is not None:
                peers[system] = Peer(system, None, reason)
                continue
            try:
                workers[system] = _Worker(system, task)
            except _Lost as error:
                peers[system] = Peer(system, None, str(error))
        samples: dict[str, list[float]] = {system: [] for system in workers}
        for turn in counted("measuring", range(rounds), rounds):
            order = deque(workers)
            order.rotate(-turn)  # no system always runs behind the same other one
            for system in order:
                try:
                    samples[system] += workers[system].run(BURST_MILLISECONDS)
                except _Lost as error:
                    peers[system] = Peer(system, None, str(error))
                    workers.pop(system).end()
    finally:
        for worker in workers.values():
            worker.end()
    for system in workers:
        peers[system] = Peer(system, Timing.of(samples[system]))
    return [peers[system] for system in systems]


def _why_not(system: type[System], task: Task) -> str | None:
    if importlib.util.find_spec(system.module) is None:
        return f"not installed ({system.install})"
    if system.needs_bin and task.bin is None:
        return "needs the network as .param"
    return "needs the network as .onnx" if system.needs_onnx and task.onnx is None else None


def _bin_path(param: PathLike, bin: PathLike | None) -> str | None:
    """The file of weights of a .param; None for an .onnx, which has its own."""
    if is_onnx(param):
        return None
    return os.path.abspath(default_bin_path(param) if bin is None else bin)


class _Lost(Exception):
    """A worker ended without an answer. The message is the last line that it wrote."""


class _Worker:
    """A process with one system, as the caller sees it."""

    def __init__(self, system: str, task: Task) -> None:
        # The worker finds ncc and its peers where this process found them.
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        self.said = tempfile.TemporaryFile()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "ncc.compiler.measure.peers"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.said,
            text=True,
            env=environment,
        )
        try:
            self._ask({"system": system, "task": asdict(task)})
        except _Lost:
            self.end()
            raise

    def run(self, milliseconds: float) -> list[float]:
        """Run a burst; the times of its runs."""
        times: list[float] = self._ask({"burst": milliseconds})
        return times

    def _ask(self, request: object) -> Any:
        stdin, stdout = self.process.stdin, self.process.stdout
        if stdin is None or stdout is None:
            raise _Lost("it has no pipes")
        try:
            stdin.write(json.dumps(request) + "\n")
            stdin.flush()
            answer = stdout.readline()
        except BrokenPipeError:
            answer = ""
        if not answer:
            code = self.process.wait()
            self.said.seek(0)
            lines = self.said.read().decode(errors="replace").strip().splitlines()
            raise _Lost(f"it ended with {code}" + (f": {lines[-1]}" if lines else ""))
        return json.loads(answer)

    def end(self) -> None:
        """End the process, which has nothing to tidy up."""
        self.process.kill()
        self.process.communicate()
        self.said.close()


def _work() -> None:
    """The worker. The first line says what to load; each later line asks for a burst."""
    # Text that a library prints must not mix with the answers.
    with os.fdopen(os.dup(1), "w") as answers:
        os.dup2(2, 1)
        first = json.loads(sys.stdin.readline())
        task = Task(**first["task"])
        with np.load(task.arrays) as stored:
            feeds = dict(zip(task.inputs, (stored[key] for key in stored.files), strict=True))
        system = SYSTEMS[first["system"]](task, feeds)
        system.run()
        print(json.dumps("ready"), file=answers, flush=True)
        for line in sys.stdin:
            times = burst(system.run, json.loads(line)["burst"])
            print(json.dumps(times), file=answers, flush=True)
        # No tear-down: allocators of other systems complain about Python's order.
        os._exit(0)


if __name__ == "__main__":
    _work()
