"""Calling a compiled model: what goes in, what comes out, and from how many threads."""

from __future__ import annotations

import ctypes
import dataclasses
import gc
import os
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ncc.runtime import session
from ncc.runtime.artifact import Artifact, Binding
from ncc.runtime.context import Context
from ncc.runtime.errors import ArtifactError, InputError, NccError
from ncc.runtime.results import Results
from ncc.runtime.session import Model
from tests.functions_entered import functions_entered
from tests.runtime.conftest import Workers

X = np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4)


def expected(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """What the test's model computes as y."""
    return (2 * (x + np.float32(0.5))).reshape(-1)[::-1].reshape(x.shape)


@pytest.mark.parametrize("threads", [1, 2, 3, 4])
def test_results_do_not_depend_on_the_number_of_threads(reverse: Artifact, threads: int) -> None:
    """Outputs by name; a dynamic one has the rows that were found."""
    with Model(reverse, threads) as model:
        for _ in range(20):
            results = model.run({"data": X})
            np.testing.assert_array_equal(results["y"], expected(X))
            np.testing.assert_array_equal(results["rows"], X[X > 0][:, None])


def test_outputs_are_selected_by_name(reverse: Artifact) -> None:
    """In the order asked for; a single name will do."""
    model = Model(reverse, 1)
    assert list(model.run({"data": X}, ["rows", "y"])) == ["rows", "y"]
    assert list(model.run({"data": X}, "rows")) == ["rows"]
    assert model.run({"data": X}, []) == {}


def test_a_dynamic_output_can_be_empty_or_full(reverse: Artifact) -> None:
    """Zero rows keep their columns."""
    model = Model(reverse, 1)
    assert model.run({"data": -np.abs(X)})["rows"].shape == (0, 1)
    assert model.run({"data": np.abs(X) + 1})["rows"].shape == (12, 1)


@pytest.mark.parametrize("rows", [12, -1])
def test_an_impossible_number_of_rows_is_refused(rows: int) -> None:
    """An error, not memory of somebody else."""
    binding = Binding("rows", (11, 1), dynamic=True)
    array, address = Results(binding).make()
    ctypes.c_int64.from_address(address).value = rows
    with pytest.raises(ArtifactError, match=f"{rows} rows for output 'rows', .* room for 11"):
        session._found_rows(array, binding)


@pytest.mark.parametrize(
    "x",
    [
        np.asfortranarray(X),
        np.repeat(X, 2, axis=1)[:, ::2],
        X[::-1, ::-1][::-1, ::-1],
        np.broadcast_to(X[:1], (3, 4)),
        np.frombuffer(b"\0" + X.tobytes(), np.uint8)[1:].view(np.float32).reshape(3, 4),
        memoryview(X),  # type: ignore[arg-type, unused-ignore]
    ],
    ids=["fortran", "strided", "reversed", "broadcast", "unaligned", "memoryview"],
)
def test_any_strides_are_accepted(reverse: Artifact, x: Any) -> None:
    """And the caller's memory stays as it is."""
    before = np.array(x)
    y = Model(reverse, 1).run({"data": x})["y"]
    np.testing.assert_array_equal(y, expected(before))
    np.testing.assert_array_equal(np.array(x), before)


def test_read_only_and_foreign_arrays_are_accepted(reverse: Artifact) -> None:
    """What shows itself as an array is one."""

    class Tensor:
        def __array__(self, dtype: object = None, copy: object = None) -> np.ndarray[Any, Any]:
            return X

    class Exporter:
        def __dlpack__(self, **options: Any) -> object:
            return X.__dlpack__(**options)

        def __dlpack_device__(self) -> tuple[int, int]:
            return (1, 0)

    model = Model(reverse, 1)
    frozen = X.copy()
    frozen.flags.writeable = False
    for x in (frozen, Tensor(), Exporter()):
        np.testing.assert_array_equal(model.run({"data": x})["y"], expected(X))  # type: ignore[dict-item]


@pytest.mark.parametrize(
    ("x", "found"),
    [
        (X.astype(np.float64), "float64 3x4: feed x.astype('float32')"),
        (X.astype(">f4"), ">f4 3x4: feed x.astype('float32')"),
        (X[:2], "float32 2x4"),
        (np.stack([X[:0]] * 3), "float32 3x0x4, which has no elements"),
        (np.empty((0, 3, 4), np.float32), "float32 0x3x4, which has no elements"),
        (X[None], "float32 1x3x4: there is no batch axis, feed x[0]"),
        (X[None] > 0, "bool 1x3x4: there is no batch axis, feed x[0].astype('float32')"),
        (np.stack([X, X]), "float32 2x3x4: there is no batch axis, feed one after the other"),
        (X.tolist(), "a list: feed numpy.asarray(x, 'float32')"),
        (None, "a NoneType"),
        (3.0, "a float"),
        ("x.npy", "a str: no file is read here, feed an array"),
        (Path("x.npy"), f"a {type(Path()).__name__}: no file is read here, feed an array"),
        ({"data": X}, "a dict: `run` takes arrays by name"),
        (memoryview(b"abc"), "uint8 3"),
    ],
)
def test_what_does_not_fit_is_named(reverse: Artifact, x: Any, found: str) -> None:
    """The blob, what was expected, and what came."""
    with pytest.raises(InputError) as caught:
        Model(reverse, 1).run({"data": x})
    message = f"input 'data' does not fit: expected float32 3x4, found {found}"
    assert str(caught.value) == message
    assert caught.value.blob == "data"


def test_channels_may_come_last(reverse: Artifact) -> None:
    """As images of other libraries have them."""
    image = dataclasses.replace(reverse, inputs=(Binding("data", (1, 3, 4)),))
    with pytest.raises(InputError, match=r"channels come first, feed x.transpose\(2, 0, 1\)$"):
        Model(image, 1).run({"data": X[..., None]})
    both = r"no batch axis and channels come first, feed x\[0\].transpose\(2, 0, 1\)$"
    with pytest.raises(InputError, match=both):
        Model(image, 1).run({"data": X[None, ..., None]})
    with pytest.raises(InputError, match="found float32 4x3x1$"):
        Model(image, 1).run({"data": X.T[..., None]})
    with pytest.raises(InputError, match="found float32 1x3$"):
        Model(image, 1).run({"data": X[:1, :3]})


def test_an_axis_of_one_may_be_missing(reverse: Artifact) -> None:
    """As the only channel of a grey image is."""
    image = dataclasses.replace(reverse, inputs=(Binding("data", (1, 3, 4)),))
    with pytest.raises(InputError, match="its first axis is not there, feed x\\[None\\]"):
        Model(image, 1).run({"data": X})


CACHE = Binding("cache", (2, -1, 4), ranges=((1, None), (0, None), (1, None)), first=(2, 0, 4))


def zeros(*shape: int) -> np.ndarray[Any, Any]:
    return np.zeros(shape, np.float32)


@pytest.mark.parametrize(
    ("fed", "shape"),
    [
        ({"cache": zeros(2, 5, 4)}, (2, 5, 4)),
        ({}, (2, 0, 4)),
        ({"cache": zeros(0)}, (2, 0, 4)),
        ({"cache": zeros(7, 0)}, (2, 0, 4)),
    ],
    ids=["fed", "not fed", "empty", "of another shape"],
)
def test_a_cache_may_be_empty(fed: dict[str, Any], shape: tuple[int, ...]) -> None:
    """If it is not fed, or has no elements."""
    assert session._checked(fed, CACHE).shape == shape


@pytest.mark.parametrize("wrong", [zeros(2, 5, 3), zeros(5, 4), zeros(2, 5, 4).astype(np.float64)])
def test_a_cache_that_does_not_fit(wrong: np.ndarray[Any, Any]) -> None:
    """By its features, its rank or its type."""
    with pytest.raises(InputError, match="'cache' does not fit"):
        session._checked({"cache": wrong}, CACHE)


def test_what_is_fed_lies_in_one_piece() -> None:
    """Whatever its strides."""
    x = np.arange(40, dtype=np.float32).reshape(4, 5, 2).T
    for binding in (CACHE, Binding("cache", (2, 5, 4))):
        found = session._checked({"cache": x}, binding)
        assert found.flags.carray
        np.testing.assert_array_equal(found, x)


def test_a_pickled_model_runs_elsewhere(reverse: Artifact, tmp_path: Path) -> None:
    """From a file, too, of which the weights are mapped."""
    reverse.save(tmp_path / "net.ncc")
    for model in (Model(reverse, 2), Model.load(tmp_path / "net.ncc", 2)):
        other = pickle.loads(pickle.dumps(model))
        assert other.num_threads == 2 and other.inputs == model.inputs
        np.testing.assert_array_equal(other.run({"data": X})["y"], expected(X))


def test_names_that_are_not_there(reverse: Artifact) -> None:
    """Inputs and outputs come with a proposal; a missing input is named."""
    model = Model(reverse, 1)
    with pytest.raises(InputError, match="no input 'dta': expected 'data'; did you mean 'data'"):
        model.run({"data": X, "dta": X})
    with pytest.raises(InputError, match="no output 'row': .* did you mean 'rows'"):
        model.run({"data": X}, ["row"])
    number: Any = 0
    with pytest.raises(InputError, match="no output '0': expected 'y' or 'rows'"):
        model.run({"data": X}, number)
    nested: Any = [["y"]]
    with pytest.raises(InputError, match="no output .* expected 'y' or 'rows'"):
        model.run({"data": X}, nested)
    with pytest.raises(InputError, match="no array was given for input 'data'"):
        model.run({})
    with pytest.raises(InputError, match="a dict of arrays by name, found a ndarray"):
        model.run(X)  # type: ignore[arg-type]


def test_calling_is_for_one_input_and_one_output(reverse: Artifact) -> None:
    """With two outputs there is no telling which is meant."""
    with pytest.raises(InputError, match="inputs 'data' and outputs 'y', 'rows'"):
        Model(reverse, 1)(X)


@pytest.fixture(scope="module")
def single(reverse: Artifact, assemble: Any, threads_object: bytes) -> Artifact:
    """y = x + x on 12 values, one thread: one input and one output."""
    text = """
    define void @run(ptr %buffers, i64 %tid, i64 %threads, i64 %before) {
    entry:
      %x.at = getelementptr ptr, ptr %buffers, i64 4
      %y.at = getelementptr ptr, ptr %buffers, i64 5
      %x = load ptr, ptr %x.at
      %y = load ptr, ptr %y.at
      %v = load <12 x float>, ptr %x, align 4
      %w = fadd <12 x float> %v, %v
      store <12 x float> %w, ptr %y, align 64
      ret void
    }"""
    return dataclasses.replace(
        reverse,
        objects=(assemble(text), threads_object),
        outputs=reverse.outputs[:1],
        weights=b"",
        arena_bytes=0,
    )


def test_call_takes_and_gives_an_array(single: Artifact) -> None:
    """Also where there are neither weights nor arena."""
    y = Model(single, 1)(X)
    np.testing.assert_array_equal(y, X + X)
    assert y.dtype == np.float32 and y.flags.writeable


def test_every_call_gives_fresh_arrays(single: Artifact) -> None:
    """A later call does not change an earlier result, nor does dropping the model."""
    model = Model(single, 1)
    first, second = model(X), model(X * 3)
    del model
    gc.collect()
    np.testing.assert_array_equal(first, X + X)
    np.testing.assert_array_equal(second, X * 6)


def test_a_call_costs_little(single: Artifact) -> None:
    """What Python does in one, counted."""
    model = Model(single, 1)
    model(X)
    assert 0 < functions_entered(lambda: model(X)) <= 32


def test_weights_that_are_not_aligned_are_copied(reverse: Artifact) -> None:
    """Compiled code relies on 64 bytes."""
    raw = np.zeros(400, np.uint8)
    start = -raw.ctypes.data % 64 + 4
    raw[start : start + 4] = np.frombuffer(np.float32(0.5).tobytes(), np.uint8)
    model = Model(dataclasses.replace(reverse, weights=raw[start : start + 64]), 1)
    assert model._weights.ctypes.data % 64 == 0
    np.testing.assert_array_equal(model.run({"data": X})["y"], expected(X))


@pytest.mark.parametrize("threads", [1, 2])
def test_several_threads_call_one_model(reverse: Artifact, threads: int) -> None:
    """Each call in flight has its own arena, so nobody sees another's numbers."""
    model = Model(reverse, threads)

    def work(seed: int) -> None:
        x = np.random.default_rng(seed).standard_normal((3, 4)).astype(np.float32)
        for _ in range(100):
            np.testing.assert_array_equal(model.run({"data": x})["y"], expected(x))

    with ThreadPoolExecutor(4) as pool:
        for future in [pool.submit(work, seed) for seed in range(8)]:
            future.result()
    assert 1 <= len(model._free) <= 4
    model.close()


def test_one_thread_starts_none_and_others_end_with_the_model(
    reverse: Artifact, workers: Workers
) -> None:
    """By close, by with, and by being forgotten."""
    model = Model(reverse, 1)
    model.run({"data": X})
    assert not workers()
    model = Model(reverse, 3)
    assert not workers()
    model.run({"data": X})
    assert len(workers()) == 2
    del model
    assert not workers()
    with Model(reverse, 2) as model:
        model.run({"data": X})
        assert len(workers()) == 1
    assert not workers()
    with pytest.raises(NccError, match="closed"):
        model.run({"data": X})


def test_a_model_that_is_closed_meanwhile_finishes_its_call(
    reverse: Artifact, workers: Workers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the call held is given back then, and a later one is refused."""
    run = Context.run
    model = Model(reverse, 3)

    def closed_meanwhile(context: Context) -> None:
        model.close()
        assert len(workers()) == 2
        run(context)

    monkeypatch.setattr(Context, "run", closed_meanwhile)
    np.testing.assert_array_equal(model.run({"data": X})["y"], expected(X))
    assert not model._free
    assert not workers()
    with pytest.raises(NccError, match="closed"):
        model.run({"data": X})


def test_an_interrupted_call_takes_along_what_it_held(
    reverse: Artifact, workers: Workers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its arena and its threads are forgotten with it, and the next call has others."""
    run = Context.run

    def interrupted(context: Context) -> None:
        run(context)
        raise KeyboardInterrupt

    with Model(reverse, 3) as model:
        with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
            patch.setattr(Context, "run", interrupted)
            model.run({"data": X})
        assert not model._free
        assert not workers()
        np.testing.assert_array_equal(model.run({"data": X})["y"], expected(X))
        assert len(workers()) == 2


def test_threads_default_to_the_artifact_and_the_cores(reverse: Artifact) -> None:
    """More than the arena was planned for is refused, and what is no number."""
    assert 1 <= Model(reverse).num_threads <= reverse.threads
    assert Model(dataclasses.replace(reverse, threads=1)).num_threads == 1
    odd: list[Any] = [0, -1, 5, 1.5, "2"]
    for count in odd:
        with pytest.raises(InputError, match="was compiled for 1 to 4 threads") as info:
            Model(reverse, count)
        how = "compile it with num_threads=5 (`ncc compile --threads 5`), and it takes 1 to 5"
        assert (how in str(info.value)) == (count == 5)


def test_a_model_is_made_of_an_artifact() -> None:
    """Who has a file opens it."""
    path: Any = "net.ncc"
    with pytest.raises(InputError, match="ncc.load opens a file.*, found a str"):
        Model(path)


def test_threads_stay_on_the_cores_of_the_process(reverse: Artifact, workers: Workers) -> None:
    """On one core one thread is the default, and more that are asked for share it."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(before)})
    try:
        assert Model(reverse).num_threads == 1
        with Model(reverse, 4) as model:
            for _ in range(5):
                np.testing.assert_array_equal(model.run({"data": X})["y"], expected(X))
            team = [thread.native_id for thread in workers()]
            assert len(team) == 3
            assert all(os.sched_getaffinity(worker or 0) == {max(before)} for worker in team)
    finally:
        os.sched_setaffinity(0, before)


def test_a_cpu_that_lacks_a_feature_is_refused(reverse: Artifact) -> None:
    """Before any of the code is loaded."""
    with pytest.raises(ArtifactError, match="lacks avx99; recompile it with --target="):
        Model(dataclasses.replace(reverse, features=frozenset({"sse2", "avx99"})))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_model_works_on_both_sides_of_a_fork(reverse: Artifact) -> None:
    """The child has no workers of its parent, and makes its own."""
    model = Model(reverse, 2)
    model.run({"data": X})
    child = os.fork()
    if child == 0:
        try:
            np.testing.assert_array_equal(model.run({"data": X})["y"], expected(X))
            os._exit(0)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    np.testing.assert_array_equal(model.run({"data": X})["y"], expected(X))
    model.close()


def run_python(text: str, *arguments: str) -> str:
    """What a fresh interpreter prints; one that hangs is ended."""
    command = [sys.executable, "-c", text, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


def test_the_interpreter_exits_with_workers_alive(reverse: Artifact, tmp_path: Path) -> None:
    """Neither hanging nor crashing, though nobody closed the model."""
    reverse.save(tmp_path / "m.ncc")
    text = """if True:
        import sys
        import numpy as np
        from ncc.runtime.session import Model
        model = Model.load(sys.argv[1], 4)
        print(model.run({"data": np.ones((3, 4), np.float32)})["y"].sum())
        cycle = [model]
        cycle.append(cycle)
    """
    assert run_python(text, str(tmp_path / "m.ncc")) == "36.0\n"


def test_a_model_is_called_while_the_interpreter_exits(reverse: Artifact, tmp_path: Path) -> None:
    """By a handler that runs after the workers were ended: new ones, or an error; no hanging."""
    reverse.save(tmp_path / "m.ncc")
    text = """if True:
        import atexit, sys
        @atexit.register
        def late():
            try:
                print(model.run({"data": x})["y"].sum())
            except NccError:
                print("36.0")
        import numpy as np
        from ncc.runtime.errors import NccError
        from ncc.runtime.session import Model
        x = np.ones((3, 4), np.float32)
        model = Model.load(sys.argv[1], 2)
        model.run({"data": x})
    """
    assert run_python(text, str(tmp_path / "m.ncc")) == "36.0\n"


def test_running_needs_neither_xdsl_nor_llvm(reverse: Artifact, tmp_path: Path) -> None:
    """A saved model is loaded and run by numpy and the standard library alone."""
    reverse.save(tmp_path / "m.ncc")
    text = """if True:
        import sys
        import numpy as np
        from ncc.runtime.session import Model
        model = Model.load(sys.argv[1], 1)
        model.run({"data": np.ones((3, 4), np.float32)})
        print([name for name in sys.modules if name.split(".")[0] in ("xdsl", "llvmlite")])
        print([name for name in sys.modules if name.startswith(("ncc.compiler", "ncc.dialects"))])
    """
    assert run_python(text, str(tmp_path / "m.ncc")) == "[]\n[]\n"


def test_repr_tells_the_signature(reverse: Artifact) -> None:
    """Inputs, outputs and target at a glance."""
    text = repr(Model(reverse, 1))
    assert text == "<Model data: float32 3x4 -> y: float32 3x4, rows: float32 12x1 rows, baseline>"
