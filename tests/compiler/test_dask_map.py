"""Models on the workers of a Dask cluster."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ncc
from ncc.runtime import cpu
from ncc.runtime.artifact import Artifact

dask = pytest.importorskip("dask", reason="Dask is not installed")
distributed = pytest.importorskip("distributed", reason="Dask is not installed")
from distributed.protocol.pickle import dumps, loads  # noqa: E402

from ncc.compiler import dask_map  # noqa: E402
from ncc.compiler.dask_map import MOST_BYTES, Network, SentFiles, Work, map_batches, run_task  # noqa: E402
from tests.compiler.driver.processes import PATIENCE  # noqa: E402

NETWORK = "7767517\n2 2\nInput in 0 1 x{size}\nInnerProduct fc 1 1 x y 0=2 2=8\n"
WEIGHTS = bytes(4) + np.arange(8, dtype="<f4").tobytes()


@pytest.fixture
def param(tmp_path: Path) -> Path:
    path = tmp_path / "net.param"
    path.write_text(NETWORK.format(size=" 0=4"))
    path.with_suffix(".bin").write_bytes(WEIGHTS)
    return path


@pytest.fixture
def compiled(param: Path) -> Path:
    path = param.with_suffix(".ncc")
    ncc.compile(param).save(path)
    return path


@pytest.fixture(autouse=True)
def _worker() -> Iterator[None]:
    """This process is a worker that has loaded nothing."""
    yield
    dask_map._models.clear()
    dask_map._sent.clear()


def unconnected() -> Any:
    """A client that nothing is sent by."""
    hollow = {"__init__": lambda self: None, "__del__": lambda self: None}
    return type("Unconnected", (distributed.Client,), hollow)()


def inputs(count: int) -> list[Any]:
    return [np.full(4, number, np.float32) for number in range(count)]


def expected(count: int) -> list[list[float]]:
    return [[6.0 * number, 22.0 * number] for number in range(count)]


def run(model: Any, arrays: list[Any], bin: Any = None, **options: Any) -> Any:
    """What a task makes of arrays, on this process."""
    network = Network.of(model, bin, options)[0]
    done = run_task(dumps(Work(network, None, None)), dumps(arrays))
    return None if done.results is None else loads(done.results)


def test_a_task_loads_the_model_once(compiled: Path, param: Path) -> None:
    """By its path, compiled or not; dicts and lists of arrays are inputs as well."""
    x = inputs(3)
    for model in (compiled, param):
        results = run(model, [x[1], {"x": x[2]}, [x[0], x[1]]])
        assert results[0].tolist() == expected(2)[1] and results[1]["y"].tolist() == [12, 44]
        assert [y.tolist() for y in results[2]] == expected(2)
        (loaded,) = dask_map._models.values()
        assert loaded.num_threads == 1
        run(model, x)
        assert list(dask_map._models.values()) == [loaded]
        dask_map._models.clear()


def test_a_worker_that_does_not_see_the_files_is_sent_them(compiled: Path) -> None:
    """Those of the client, though other files have the same path."""
    network, files = Network.of(compiled, None, {})
    content = compiled.read_bytes()
    compiled.write_bytes(b"other")
    assert dask_map.model_of(network) is None
    plugin = SentFiles(network.digest, (content,))
    plugin.setup(None)  # type: ignore[arg-type]
    model = dask_map.model_of(network)
    assert model is not None and model(inputs(2)[1]).tolist() == expected(2)[1]
    plugin.teardown(None)  # type: ignore[arg-type]
    assert files == (str(compiled),) and not dask_map._sent


def test_models_in_memory_have_no_path_for_workers(compiled: Path, param: Path) -> None:
    """A number of an open file means something else there."""
    for model in (compiled.read_bytes(), ncc.load(compiled)):
        network, files = Network.of(model, None, {})
        assert network.paths == () and Path(files[0]).read_bytes() == compiled.read_bytes()
        assert run(model, inputs(1)) is None
    assert Network.of(param.read_bytes(), WEIGHTS, {})[0].paths == ()


def test_a_model_for_another_cpu_is_refused_and_a_network_is_compiled(
    compiled: Path, param: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the way to go on."""
    artifact = Artifact.load(compiled)
    other = compiled.with_name("other.ncc")
    Artifact(**{**vars(artifact), "features": frozenset({"sse9"})}).save(other)
    with pytest.raises(ncc.ArtifactError, match="lacks sse9.*give the network itself, and each"):
        run(other, inputs(1))
    assert cpu.features()
    assert run(param, inputs(2))[1].tolist() == expected(2)[1]


@pytest.mark.parametrize(
    ("model", "options", "said"),
    [
        ("net.ncc", {"opt_level": 1}, "a compiled model has its weights and options"),
        ("net.ncc", {"bin": b""}, "a compiled model has its weights and options"),
        ("net.param", {"num_threads": 2}, "a worker's threads run a task each"),
        (3, {}, "no path to the model"),
    ],
)
def test_what_does_not_fit_is_refused(
    compiled: Path, monkeypatch: pytest.MonkeyPatch, model: Any, options: Any, said: str
) -> None:
    """Before anything is sent."""
    monkeypatch.chdir(compiled.parent)
    client = unconnected()
    with pytest.raises(ncc.InputError, match=said):
        map_batches(client, model, [], **options)
    with pytest.raises(ncc.InputError, match="no client: expected a distributed.Client"):
        map_batches(3, model, [])  # type: ignore[arg-type]


def test_a_model_of_open_shapes_is_refused(param: Path) -> None:
    """Its file is what workers can compile."""
    open_model = ncc.compile(param, input_shapes={"x": (None,)})
    with pytest.raises(ncc.InputError, match="give the path of its .param"):
        Network.of(open_model, None, {})


def test_tasks_grow_until_they_take_long_enough(compiled: Path) -> None:
    """And no further than memory and ten times the last one allow."""
    network, files = Network.of(compiled, None, {})
    arrays = iter([np.zeros(MOST_BYTES // 8, np.float32)] * 9)
    mapping = dask_map._Mapping(None, Work(network, None, None), files, arrays)  # type: ignore[arg-type]
    sizes = []
    for seconds in (1e-5, 1e-4, 1e-3, 0.5, 100):
        mapping._measure(mapping.size, seconds)
        sizes.append(mapping.size)
    assert sizes == [8, 64, 512, 512, 2]
    mapping.size = 512
    assert [len(mapping._taken()) for _ in range(6)] == [2, 2, 2, 2, 1, 0]


def test_ncc_is_light_without_a_cluster() -> None:
    """Nothing of Dask is imported before it is asked for."""
    assert "dask" in ncc.__all__ and ncc.dask.map is map_batches
    command = "import sys, ncc; print({'distributed', 'dask', 'PIL', 'numpy'} & set(sys.modules))"
    assert os.popen(f'{sys.executable} -c "{command}"').read() == "set()\n"


# --- on a cluster --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    """Of two processes with one thread each.

    A cluster gives up a worker that is not back after 15 seconds, and a busy machine takes longer
    to begin one: without workers, results never come.
    """
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    patient = dask.config.set({"distributed.deploy.lost-worker-timeout": f"{PATIENCE}s"})
    with patient, distributed.LocalCluster(**options) as cluster:
        with distributed.Client(cluster) as client:
            yield client


@pytest.mark.slow
@pytest.mark.parametrize(
    "given",
    [lambda path: path, lambda path: path.read_bytes(), ncc.load],
    ids=["path", "bytes", "model"],
)
def test_results_come_in_order(client: Any, compiled: Path, given: Callable[..., Any]) -> None:
    """Of ten thousand inputs, by far fewer tasks; only as many are taken as are needed."""
    taken, ahead, count = 0, 0, 10_000

    def batches() -> Iterator[Any]:
        nonlocal taken
        for x in inputs(count):
            taken += 1
            yield x

    results: list[Any] = []
    for result in ncc.dask.map(client, given(compiled), batches()):
        ahead = max(ahead, taken - len(results))
        results.append(result.tolist())
    assert results == expected(count)
    assert ahead < count
    assert len(client.processing()) == 2


@pytest.mark.slow
def test_a_killed_worker_loses_and_repeats_nothing(client: Any, compiled: Path) -> None:
    """The others, and the one that follows it, do its work; they are sent the model, too."""
    results: list[Any] = []

    def slowly(x: Any) -> Any:
        time.sleep(0.005)
        return x

    found = ncc.dask.map(client, compiled.read_bytes(), inputs(600), prepare=slowly)
    for result in found:
        results.append(result.tolist())
        if len(results) in (100, 300):
            os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)
    assert results == expected(600)


@pytest.mark.slow
def test_memory_stays_flat(client: Any, compiled: Path) -> None:
    """Of workers and of the client, while results are taken one by one."""
    batch = [np.zeros(4, np.float32)] * 1000

    def resident() -> int:
        fields = Path("/proc/self/statm").read_text().split()
        return int(fields[1]) * os.sysconf("SC_PAGE_SIZE")

    def run_through(count: int) -> None:
        for _ in ncc.dask.map(client, compiled, (batch for _ in range(count))):
            pass

    run_through(20)
    before = [resident(), *client.run(resident).values()]
    run_through(100)
    after = [resident(), *client.run(resident).values()]
    assert max(b - a for a, b in zip(before, after, strict=True)) < 32 << 20


@pytest.mark.slow
def test_errors_come_where_the_result_would(client: Any, compiled: Path) -> None:
    """Results before it are handed out, and nothing goes on behind it."""
    wrong = [*inputs(20), np.zeros(3, np.float32), *inputs(20)]
    results: list[Any] = []
    with pytest.raises(ncc.InputError, match="input 'x' does not fit"):
        for result in ncc.dask.map(client, compiled, wrong):
            results.append(result.tolist())
    assert results == expected(20)[: len(results)]
    unknown = b"cnowhere\nnothing\n."
    with pytest.raises(ModuleNotFoundError, match="nowhere"):
        client.submit(run_task, unknown, b"").result()
    stopped = ncc.dask.map(client, compiled, iter(inputs(10**6)))
    assert next(stopped).tolist() == [0, 0]
    stopped.close()  # type: ignore[attr-defined]
