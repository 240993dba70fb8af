"""Runs a model on many inputs with the workers of a Dask cluster.

    for result in ncc.dask.map(client, "net.ncc", arrays): ...

    client                                          a worker, for each task
      takes inputs, as many as workers can do         finds the model, loaded once a process
      makes tasks of several inputs each  ------->    runs it on each input, with one thread
      hands out results in order          <-------    tells how long that took

A task lasts about half a second, so that Dask's own work for it does not count. It carries
the paths of the model and a digest of its files. A worker that does not see the same files says so;
then all workers are sent the files, once each. Inputs are a part of the task: if a worker is lost,
Dask runs its tasks elsewhere, and each result is handed out once.
"""

from __future__ import annotations

import os
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeAlias
from uuid import uuid4

import numpy as np
from distributed import Client, Future, Worker, WorkerPlugin, get_worker
from distributed.protocol.pickle import dumps, loads

from ncc.runtime.errors import ArtifactError, InputError, NccError, needing_packages
from ncc.runtime.file_kinds import is_compiled
from ncc.runtime.memory_files import FileLike, file_of, is_in_memory, shown_path
from ncc.runtime.session import Model

Function: TypeAlias = Callable[[Any], Any]

SECONDS = 0.5
"""The time that a task should take."""

MOST_BYTES = 8 << 20
"""Of the arrays in a task, if it has several."""

MOST_INPUTS = 4096
"""In a task."""

GROWTH = 8
"""By how much a task may be larger than the one before that was measured."""

TASKS_A_THREAD = 3
"""Tasks that are with the cluster: one that runs, others that wait."""

KEPT_A_THREAD = 8
"""The same, and those whose results wait for an earlier one."""

REFRESH = 1.0
"""Seconds until the workers are counted again."""

MOST_MODELS = 4
"""That a worker keeps; the least recently used goes first."""


@dataclass(frozen=True)
class Network:
    """The files of a model, as a task names them: a .ncc, or a .param and its .bin."""

    paths: tuple[str, ...]
    """None where the files are in the memory of the client."""
    options: Mapping[str, Any]
    digest: str
    """Of the content of the files, and of the options."""

    @staticmethod
    def of(
        model: FileLike | Model, bin: FileLike | None, options: Mapping[str, Any]
    ) -> tuple[Network, tuple[str, ...]]:
        """The files of a model, and paths of them for the client."""
        if isinstance(model, Model):
            model = _saved(model)
        paths = [file_of(model, "the model")]
        if is_compiled(paths[0]):
            if bin is not None or options:
                raise InputError("a compiled model has its weights and options: give it alone")
        else:
            paths += _weights(paths[0], bin)
        seen = () if any(map(is_in_memory, paths)) else paths
        absolute = tuple(os.path.abspath(shown_path(path)) for path in seen)
        digest = _digest(_contents(paths), options)
        return Network(absolute, dict(options), digest), tuple(paths)


def _contents(paths: Iterable[str]) -> tuple[bytes, ...]:
    return tuple(Path(path).read_bytes() for path in paths)


def _saved(model: Model) -> bytes:
    """A model as the content of a .ncc file."""
    if not hasattr(model, "artifact"):
        raise InputError(
            "a model of open shapes is compiled where it runs: give the path of its .param, or "
            "a .ncc file of `ncc compile`"
        )
    with TemporaryDirectory(prefix="ncc-dask-") as folder:
        path = Path(folder, "model.ncc")
        model.save(path)
        return path.read_bytes()


def _weights(param: str, bin: FileLike | None) -> list[str]:
    """The file of weights that belongs to a network, if there is one."""
    if bin is not None:
        return [file_of(bin, "the .bin")]
    with needing_packages("ncc.dask.map with a network"):
        from ncc.compiler.network_files import weights_path

        path = weights_path(param)
    return [path] if path != param and os.path.exists(path) else []


def _digest(contents: Iterable[bytes], options: Mapping[str, Any]) -> str:
    found = sha256(repr(sorted(options.items())).encode())
    for content in contents:
        found.update(sha256(content).digest())
    return found.hexdigest()


# --- on a worker ---------------------------------------------------------------------------------

_sent: dict[str, tuple[bytes, ...]] = {}
"""The files that this process was sent, by digest."""

_models: OrderedDict[str, Model] = OrderedDict()
_lock = threading.Lock()


class SentFiles(WorkerPlugin):
    """Files that a worker does not see; the scheduler sends them to later workers, too."""

    def __init__(self, digest: str, contents: tuple[bytes, ...]) -> None:
        self.name = f"ncc-{digest}"
        self._digest, self._contents = digest, contents

    def setup(self, worker: Worker) -> None:
        _sent[self._digest] = self._contents

    def teardown(self, worker: Worker) -> None:
        _sent.pop(self._digest, None)


@dataclass(frozen=True)
class Done:
    """What became of a task. results: pickled, since Dask would take lists apart, and handle each
    array by itself; None where the worker does not see the model.
    """

    results: bytes | None
    seconds: float = 0.0


@dataclass(frozen=True)
class Work:
    """What a task does with each input."""

    network: Network
    prepare: Function | None
    finish: Function | None

    def done(self, inputs: list[Any]) -> Done:
        model = model_of(self.network)
        if model is None:
            return Done(None)
        start = time.perf_counter()
        results = dumps([self._result(model, one) for one in inputs])
        return Done(results, time.perf_counter() - start)

    def _result(self, model: Model, one: Any) -> Any:
        if isinstance(one, list):
            return [self._result(model, part) for part in one]
        fed = one if self.prepare is None else self.prepare(one)
        result = model.run(fed) if isinstance(fed, Mapping) else model(fed)
        return result if self.finish is None else self.finish(result)


def run_task(work: bytes, inputs: bytes) -> Done:
    """What a worker does: both are pickled, so that one that cannot read them tells so as the error
    of this task, and is not lost.
    """
    chosen: Work = loads(work)
    return chosen.done(loads(inputs))


def model_of(network: Network) -> Model | None:
    """The model in this process, loaded by the first task that needs it; None where its files are
    not seen.
    """
    with _lock:
        model = _models.get(network.digest)
        if model is None:
            files = _files(network)
            if files is None:
                return None
            model = _models[network.digest] = _loaded(files, network.options)
            while len(_models) > MOST_MODELS:
                _models.popitem(last=False)
        _models.move_to_end(network.digest)
        return model


def _files(network: Network) -> tuple[FileLike, ...] | None:
    """Paths of the same files here, or what was sent."""
    try:
        same = _digest(_contents(network.paths), network.options) == network.digest
    except OSError:
        same = False
    return network.paths if network.paths and same else _sent.get(network.digest)


def _loaded(files: tuple[FileLike, ...], options: Mapping[str, Any]) -> Model:
    """The model of these files. Each thread of a worker runs one task, so that a model has one."""
    try:
        path = file_of(files[0], "the model")
        if is_compiled(path):
            return Model.load(path, num_threads=1)
        with needing_packages("a worker that compiles"):
            from ncc.compiler.driver.compile import compile

            return compile(path, *files[1:], **options)
    except ArtifactError as error:
        how = "give the network itself, and each worker compiles it for its CPU"
        raise ArtifactError(
            f"worker {_here()}: {error}; or {how}", error.missing_features
        ) from None


def _here() -> str:
    try:
        return str(get_worker().address)
    except ValueError:
        return "of no cluster"


# --- at the client -------------------------------------------------------------------------------


def map_batches(
    client: Client,
    model: FileLike | Model,
    batches: Iterable[Any],
    *,
    bin: FileLike | None = None,
    prepare: Function | None = None,
    finish: Function | None = None,
    **options: Any,
) -> Iterator[Any]:
    """The results of a model for many inputs, computed by the workers of a cluster, in order.

    model: a .ncc file, or a .param with its .bin, or an .onnx, which each worker compiles for its
    CPU: paths, bytes or open files; or a `Model`. batches: arrays, dicts of arrays by name, or
    lists of them, which give a list of results; taken one by one as workers come to need them.
    prepare: a function that a worker calls with each input first: it may read a file whose path is
    the input. finish: is called with each result there, and may make less of it. options: of
    `ncc.compile`, for a network.

    Raises what loading, compiling and running raise, when the result would be handed out.
    """
    if not isinstance(client, Client):
        raise InputError("no client", None, "a distributed.Client", f"a {type(client).__name__}")
    if options.get("num_threads", 1) != 1:
        raise InputError("a worker's threads run a task each: num_threads is 1")
    network, files = Network.of(model, bin, options)
    return _Mapping(client, Work(network, prepare, finish), files, iter(batches)).results()


@dataclass
class _Task:
    count: int
    """Of its inputs."""
    inputs: bytes
    future: Future[Any]


@dataclass
class _Mapping:
    """One run of `map_batches`."""

    client: Client
    work: Work
    files: tuple[str, ...]
    """Of the model, as this process sees them."""
    batches: Iterator[Any]
    pickled: bytes = b""
    """The work."""
    run: str = field(default_factory=lambda: uuid4().hex)
    tasks: deque[_Task] = field(default_factory=deque)
    size: int = 1
    """The number of inputs of the next task."""
    count: int = 0
    has_sent: bool = False
    threads: int = 1
    """Of all workers."""
    changed: threading.Event = field(default_factory=threading.Event)
    """A task is done."""
    counted_at: float = -REFRESH

    def results(self) -> Iterator[Any]:
        self.pickled = dumps(self.work)
        try:
            while self._waited_for_first():
                task = self.tasks[0]
                done = self._done(task)
                self.tasks.popleft()
                self._measure(task.count, done.seconds)
                assert done.results is not None
                yield from loads(done.results)
        finally:
            self.client.cancel([task.future for task in self.tasks])
            if self.has_sent:
                self.client.unregister_worker_plugin(f"ncc-{self.work.network.digest}")

    def _done(self, task: _Task) -> Done:
        """What became of a task; run again where the worker was without the model."""
        done: Done = task.future.result()
        if done.results is not None:
            return done
        self._send()
        task.future = self._submitted(task.inputs)
        done = task.future.result()
        if done.results is None:
            raise NccError(
                "a worker neither sees the files of the model nor keeps those it is sent"
            )
        return done

    def _send(self) -> None:
        """Send all workers the files of the model, once."""
        if not self.has_sent:
            self.has_sent = True
            plugin = SentFiles(self.work.network.digest, _contents(self.files))
            self.client.register_plugin(plugin)

    def _waited_for_first(self) -> bool:
        """Keep the cluster at work until the first task is done; whether there is one."""
        while True:
            self.changed.clear()
            self._submit_more()
            if not self.tasks or self.tasks[0].future.done():
                return bool(self.tasks)
            self.changed.wait(REFRESH)

    def _submit_more(self) -> None:
        while self._has_room() and (inputs := self._taken()):
            pickled = dumps(inputs)
            self.tasks.append(_Task(len(inputs), pickled, self._submitted(pickled)))

    def _submitted(self, inputs: bytes) -> Future[Any]:
        self.count += 1
        key = f"ncc-{self.run}-{self.count}"
        future = self.client.submit(run_task, self.pickled, inputs, key=key, pure=False)
        future.add_done_callback(lambda _: self.changed.set())
        return future

    def _has_room(self) -> bool:
        """Whether the cluster shall be given another task."""
        now = time.monotonic()
        if now - self.counted_at > REFRESH:
            self.counted_at = now
            self.threads = max(1, sum(self.client.nthreads().values()))
        unfinished = sum(not task.future.done() for task in self.tasks)
        has_work = unfinished >= TASKS_A_THREAD * self.threads
        return not has_work and len(self.tasks) < KEPT_A_THREAD * self.threads

    def _taken(self) -> list[Any]:
        """The inputs of the next task."""
        inputs: list[Any] = []
        taken = 0
        while len(inputs) < self.size and taken < MOST_BYTES:
            try:
                inputs.append(next(self.batches))
            except StopIteration:
                break
            taken += _bytes_of(inputs[-1])
        return inputs

    def _measure(self, count: int, seconds: float) -> None:
        """Choose the size of later tasks by the time that one took."""
        wanted = int(SECONDS * count / max(seconds, 1e-6))
        self.size = max(1, min(wanted, GROWTH * count, MOST_INPUTS))


def _bytes_of(value: Any) -> int:
    """The bytes of arrays in an input."""
    if isinstance(value, np.ndarray):
        return value.nbytes
    if isinstance(value, Mapping):
        return sum(_bytes_of(one) for one in value.values())
    return sum(_bytes_of(one) for one in value) if isinstance(value, list) else 0
