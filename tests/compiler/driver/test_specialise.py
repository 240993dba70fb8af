"""A model of open shapes compiles for all of them, or once a shape, and says what does not fit."""

from __future__ import annotations

import gc
import os
import pickle
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ncc
from ncc.compiler.driver import assemble, specialise
from ncc.compiler.driver.cache import Cache
from ncc.compiler.driver.specialise import OpenModel
from ncc.compiler.driver.thin_model import ThinModel
from ncc.compiler.pipeline import Compilation
from ncc.compiler.verification.verify import verify
from ncc.runtime.artifact import Artifact

BRANCHES = """7767517
6 7
Input data 0 1 data{extents}
Convolution conv 1 1 data c 0=8 1=3 4=1 5=1 6=216 9=1
Split split 1 2 c c0 c1
Pooling pool 1 1 c1 p 0=0 1=2 2=2
Interp up 1 1 p u 0=1 1=2.0 2=2.0
BinaryOp add 2 1 c0 u out 0=0
"""

TWO = """7767517
3 3
Input data 0 1 data
Input more 0 1 more
BinaryOp add 2 1 data more out 0=0
"""

EXPRESSIONS = """7767517
8 8
Input data 0 1 data
Input like 0 1 like
Interp same 1 1 data same 0=1 9="*(0w,1),+(0h,0)"
Crop crop 2 1 same like cropped
Convolution conv 1 1 cropped c 0=4 1=1 6=12
Reshape flat 1 1 c f 6="*(0w,0h),0c"
Permute turn 1 1 f t 0=1
InnerProduct score 1 1 t out 0=5 1=1 2=20
"""


@pytest.fixture
def branches(tmp_path: Path) -> Path:
    """A network that takes any even extents, and says nothing of its input."""
    path = tmp_path / "net.param"
    path.write_text(BRANCHES.format(extents=""))
    return path


@pytest.fixture
def model(branches: Path) -> OpenModel:
    made = ncc.compile(branches, random_weights=1)
    assert isinstance(made, OpenModel)
    return made


@pytest.fixture
def by_shape(model: OpenModel) -> OpenModel:
    """The same as if it could not be compiled for all shapes."""
    model.reason = "a test wants it so"
    return model


def image(*shape: int) -> Any:
    return np.random.default_rng(0).uniform(-1, 1, shape).astype(np.float32)


def count_compilations(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int | None, ...]]:
    """The shape of `data` of every compilation from now on."""
    made: list[tuple[int | None, ...]] = []
    whole = assemble.artifact_of

    def artifact(compilation: Compilation, cache: Cache | None) -> Artifact:
        made.append(compilation.options.input_shapes["data"])
        return whole(compilation, cache)

    monkeypatch.setattr(assemble, "artifact_of", artifact)
    return made


def test_every_shape_gives_what_a_compilation_for_it_gives(
    model: OpenModel, branches: Path
) -> None:
    """Called with a shape, the model is the one that is compiled for that shape."""
    for shape in ((3, 8, 8), (3, 16, 4), (3, 8, 8)):
        x = image(*shape)
        wanted = ncc.compile(branches, random_weights=1, input_shapes={"data": shape})
        assert not isinstance(wanted, OpenModel)
        np.testing.assert_allclose(model(x), wanted(x), rtol=1e-5, atol=1e-5)
        found = model.run({"data": x}, ["out"])["out"]
        np.testing.assert_allclose(found, wanted(x), rtol=1e-5, atol=1e-5)


def count_versions(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The hint for `data` of every compilation for all shapes from now on; None for one shape."""
    made: list[Any] = []
    whole = assemble.assemble

    def thin(compilation: Compilation, cache: Cache | None) -> ThinModel:
        made.append(compilation.options.hints.get("data"))
        return whole(compilation, cache)

    monkeypatch.setattr(assemble, "assemble", thin)
    return made


def test_one_compilation_is_for_all_shapes(
    model: OpenModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Costs are compared for the first call's shape, or a larger one if it is small."""
    made = count_versions(monkeypatch)
    for height, width in ((8, 8), (16, 4), (32, 30), (64, 62), (8, 8)):
        x = image(3, height, width)
        assert model(x).shape == (8, height, width)
    assert made == [(3, 72, 72)]
    assert repr(model).endswith(", versions for all shapes: 1>")


def test_a_shape_that_no_version_is_for_gets_another_one(
    branches: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The versions are kept, and each call finds the first that is right for its shapes."""
    branches.write_text(TWO)
    model = ncc.compile(branches, random_weights=1)
    assert isinstance(model, OpenModel)
    made = count_versions(monkeypatch)
    for shape, other in (
        ((3, 8, 8), (3, 8, 8)),
        ((3, 4, 5), (3, 4, 5)),
        ((3, 4, 5), (3, 1, 1)),
        ((3, 8, 7), (3, 1, 1)),
        ((3, 2, 7), (3, 2, 7)),
    ):
        feeds = {"data": image(*shape), "more": image(*other)}
        np.testing.assert_array_equal(model.run(feeds)["out"], feeds["data"] + feeds["more"])
    assert len(model._versions.models) == 2 and model.reason is None
    refused = (3, 68, 69), (3, 4, 5), (3, 68, 5), (3, 4, 5)  # extents of 1 may be broadcast
    assert made == [(3, 72, 72), *refused, (3, 68, 69)]


def test_the_version_that_is_used_least_recently_goes_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What is kept is bounded, and a call counts as a use."""
    monkeypatch.setattr(specialise, "MOST_KEPT", 2)

    class Version:
        def __init__(self, height: int) -> None:
            self.height = height
            self.inputs = ()

        def is_for(self, shapes: Any) -> bool:
            return bool(shapes["data"][1] == self.height)

    versions = specialise._Versions()
    found = []
    for height in (1, 2, 1, 3, 1, 2):
        version = versions.find({"data": (3, height)})
        found.append(version is not None)
        if version is None:
            new: Any = Version(height)
            versions.add(new)
    assert found == [False, False, True, False, True, False]


def test_what_cannot_be_open_is_compiled_for_each_shape(
    model: OpenModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The model says why."""
    whole = assemble.assemble

    def refuse(compilation: Compilation, cache: Cache | None) -> ThinModel:
        if not compilation.options.hints:
            return whole(compilation, cache)
        raise ncc.Unsupported("a table of [(data_h + 1) // 2 * data_w] rows")

    monkeypatch.setattr(assemble, "assemble", refuse)
    made = count_compilations(monkeypatch)
    for shape in ((3, 8, 8), (3, 4, 4), (3, 8, 8)):
        model(image(*shape))
    assert made == [(3, 8, 8), (3, 4, 4)]
    assert "a table of [of data_h, data_w] rows" in (model.reason or "")
    assert repr(model).endswith(f"compiled for 2 shapes, since {model.reason}>")


def test_threads_that_meet_at_the_first_call_compile_once(
    model: OpenModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The others wait for the code, which is for their shapes, too."""
    made = count_versions(monkeypatch)
    results: dict[int, Any] = {}
    threads = [
        threading.Thread(target=lambda n=n: results.update({n: model(image(3, n, n)).shape}))
        for n in (4, 8, 12, 16)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {n: (8, n, n) for n in (4, 8, 12, 16)}
    assert len(made) == 1


def test_the_cache_keeps_code_for_all_shapes(
    branches: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """For the shape that costs were compared for: results do not depend on what others called."""
    monkeypatch.setenv("NCC_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("NCC_CACHE")
    branches.with_suffix(".bin").write_bytes(bytes(4) + b"\0\0\0\x3f" * (216 + 8))
    made = count_versions(monkeypatch)
    x, y = image(3, 8, 8), image(3, 12, 10)
    first = [ncc.compile(branches)(one) for one in (x, y)]
    assert made == [(3, 72, 72), (3, 76, 74)]
    again = [ncc.compile(branches)(one) for one in (x, y)]
    assert len(made) == 2
    for one, other in zip(first, again, strict=True):
        np.testing.assert_array_equal(one, other)


def test_ranges_are_kept_to(branches: Path) -> None:
    """A call outside of them is refused, by the name of the input."""
    model = ncc.compile(branches, random_weights=1, input_shapes={"data": (3, (8, 64), None)})
    assert repr(model).startswith("<OpenModel data: float32 3x8..64x? -> ")
    assert model(image(3, 64, 6)).shape == (8, 64, 6)
    for height in (6, 66):
        with pytest.raises(ncc.InputError) as caught:
            model(image(3, height, 8))
        assert f"'data' does not fit: expected float32 3x8..64x?, found float32 3x{height}x8" in (
            str(caught.value)
        )


def test_a_shape_is_compiled_once(by_shape: OpenModel, monkeypatch: pytest.MonkeyPatch) -> None:
    """Later calls run what the first has compiled; `compiled` hands it out."""
    model = by_shape
    made = count_compilations(monkeypatch)
    for shape in ((3, 8, 8), (3, 4, 4), (3, 8, 8), (3, 4, 4)):
        model(image(*shape))
    assert model.compiled({"data": [3, 4, 4]}).inputs[0].shape == (3, 4, 4)
    assert made == [(3, 8, 8), (3, 4, 4)]


def test_the_least_recently_used_shape_goes_first(
    branches: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is kept is bounded, and a call counts as a use."""
    monkeypatch.setattr(specialise, "MOST_KEPT", 2)
    model = ncc.compile(branches, random_weights=1)
    assert isinstance(model, OpenModel)
    model.reason = "a test wants it so"
    made = count_compilations(monkeypatch)
    first, second, third = image(3, 2, 2), image(3, 4, 4), image(3, 6, 6)
    for x in (first, second, first, third, first, second):
        model(x)
    assert made == [(3, 2, 2), (3, 4, 4), (3, 6, 6), (3, 4, 4)]


def test_two_calls_with_a_new_shape_compile_once(
    by_shape: OpenModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Threads that meet at a new shape wait for one compilation; others go on meanwhile."""
    model = by_shape
    model(image(3, 2, 2))
    made = count_compilations(monkeypatch)
    whole, entered, go_on = assemble.artifact_of, threading.Semaphore(0), threading.Event()

    def slow(compilation: Compilation, cache: Cache | None) -> Artifact:
        entered.release()
        assert go_on.wait(600)
        return whole(compilation, cache)

    monkeypatch.setattr(assemble, "artifact_of", slow)
    results: list[Any] = []
    x = image(3, 8, 8)
    threads = [threading.Thread(target=lambda: results.append(model(x))) for _ in range(3)]
    for thread in threads:
        thread.start()
    assert entered.acquire(timeout=600)
    assert model(image(3, 2, 2)).shape == (8, 2, 2)  # known: does not wait
    other = threading.Thread(target=lambda: results.append(model(image(3, 4, 4))))
    other.start()
    assert entered.acquire(timeout=600)  # new: is compiled beside
    go_on.set()
    for thread in (*threads, other):
        thread.join()
    assert sorted(made) == [(3, 4, 4), (3, 8, 8)]
    assert sorted(result.shape for result in results) == [(8, 4, 4), *[(8, 8, 8)] * 3]


@pytest.mark.parametrize("level", [0, 2])
def test_compiling_leaves_other_threads_alone(
    branches: Path, level: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """xDSL's implicit builder changes every operation of the process: nothing here may use it."""
    monkeypatch.setattr("xdsl.builder.ImplicitBuilder", None)
    monkeypatch.setenv("NCC_CACHE", "off")
    model = ncc.compile(branches, random_weights=1, opt_level=level)
    assert model(image(3, 8, 8)).shape == (8, 8, 8)


@pytest.mark.slow
def test_shapes_compiled_at_once_are_all_right(
    branches: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Compilations in several threads do not disturb each other, nor Python's settings."""
    monkeypatch.setenv("NCC_CACHE", "off")
    model = ncc.compile(branches, random_weights=1)
    assert isinstance(model, OpenModel)
    model.reason = "a test wants it so"
    settings = gc.isenabled(), sys.getswitchinterval()
    pictures = [image(3, n, n) for n in (4, 6, 8, 10)]
    results: dict[int, Any] = {}
    threads = [
        threading.Thread(target=lambda k=k, x=x: results.update({k: model(x)}))
        for k, x in enumerate(pictures)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (gc.isenabled(), sys.getswitchinterval()) == settings
    for k, x in enumerate(pictures):
        wanted = ncc.compile(branches, random_weights=1, input_shapes={"data": x.shape})
        assert np.array_equal(results[k], wanted(x))


def test_a_failed_shape_fails_again_and_harms_no_other(model: OpenModel) -> None:
    """An error is not kept, and the model can be used on."""
    for _ in range(2):
        with pytest.raises(ncc.InputError, match="do not broadcast"):
            model(image(3, 7, 8))
    assert model(image(3, 8, 8)).shape == (8, 8, 8)


def test_the_child_of_a_fork_can_use_the_model(model: OpenModel) -> None:
    """Also when another thread of the parent was compiling at that moment."""
    with model._kept._lock, model._versions.lock:
        child = os.fork()
        if child == 0:
            try:
                os._exit(0 if model(image(3, 8, 8)).shape == (8, 8, 8) else 1)
            finally:
                os._exit(1)
        assert os.waitpid(child, 0)[1] == 0


def test_what_is_not_known_is_shown_as_a_question(model: OpenModel, branches: Path) -> None:
    """In the repr and in the inputs, whether the file or the caller left it open."""
    assert repr(model).startswith("<OpenModel data: float32 ? -> out: float32 ?, ")
    some = ncc.compile(branches, random_weights=1, input_shapes={"data": (3, None, 8)})
    assert isinstance(some, OpenModel) and some.inputs[0].shape == (3, -1, 8)
    assert "data: float32 3x?x8" in repr(some)
    branches.write_text(BRANCHES.format(extents=" 0=0 1=8 2=3"))
    assert "data: float32 3x8x?" in repr(ncc.compile(branches, random_weights=1))
    branches.write_text(BRANCHES.format(extents=" 0=8 1=8 2=3"))
    assert not isinstance(ncc.compile(branches, random_weights=1), OpenModel)
    assert isinstance(
        ncc.compile(branches, random_weights=1, input_shapes={"data": (3, None, 8)}), OpenModel
    )


@pytest.mark.parametrize(
    ("x", "said"),
    [
        (image(4, 8, 8), "expected float32 3x?x?, found float32 4x8x8"),
        (image(8, 8), "expected float32 3x?x?, found float32 8x8"),
        (image(3, 8, 8).astype(np.float64), "found float64 3x8x8: feed x.astype('float32')"),
        (image(8, 9, 3), "found float32 8x9x3: channels come first, feed x.transpose(2, 0, 1)"),
        (image(8, 9, 3).astype("u1"), "feed x.transpose(2, 0, 1).astype('float32')"),
        (image(1, 3, 8, 8), "found float32 1x3x8x8: there is no batch axis, feed x[0]"),
        ("text", "expected float32 3x?x?, found a str"),
        (image(3, 0, 8), "expected float32 3x?x?, found float32 3x0x8"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(branches: Path, x: Any, said: str) -> None:
    """By what is known of the shape before anything is compiled."""
    model = ncc.compile(branches, random_weights=1, input_shapes={"data": (3, None, None)})
    with pytest.raises(ncc.InputError) as caught:
        model(x)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("shape", "how"),
    [
        ((8, 6, 3), "channels come first, feed x.transpose(2, 0, 1)"),
        ((1, 3, 8, 6), "there is no batch axis, feed x[0]"),
        ((2, 3, 8, 6), "there is no batch axis, feed one after the other"),
        (
            (1, 8, 6, 3),
            "there is no batch axis and channels come first, feed x[0].transpose(2, 0, 1)",
        ),
    ],
    ids=str,
)
def test_an_array_in_another_form_is_refused_as_where_shapes_are_known(
    model: OpenModel, shape: tuple[int, ...], how: str
) -> None:
    """Not by the layer that it reaches, though this is told behind it."""
    with pytest.raises(ncc.InputError) as caught:
        model(image(*shape))
    found = "x".join(map(str, shape))
    assert str(caught.value) == (
        f"input 'data' does not fit: expected float32 ?, found float32 {found}: {how}"
    )
    assert isinstance(caught.value.__cause__, ncc.ModelError)


def test_a_form_that_would_not_do_is_not_advised(model: OpenModel) -> None:
    """Channels first, the image would have an odd height."""
    for shape in ((7, 8, 3), (4, 8, 8), (8, 8)):
        with pytest.raises(ncc.InputError) as caught:
            model(image(*shape))
        assert "to go on" not in str(caught.value)


def test_a_refused_shape_is_shown_with_its_way(model: OpenModel, branches: Path) -> None:
    """The layer, its line with a caret, and how each operand came by its shape."""
    with pytest.raises(ncc.InputError) as caught:
        model(image(3, 7, 8))
    assert str(caught.value).splitlines() == [
        "the layers do not take input 'data' of 3x7x8",
        f"{branches}:8:10: error: layer 'add' (BinaryOp): (8, 7, 8) and (8, 8, 8) do not "
        "broadcast: their extents differ",
        "  BinaryOp add 2 1 c0 u out 0=0",
        "           ^^^",
        "  found data 3x7x8 -> c 8x7x8 -> c0 8x7x8",
        "    and data 3x7x8 -> c 8x7x8 -> p 8x4x4 -> u 8x8x8",
    ]


def test_names_are_checked_before_anything_is_fed(model: OpenModel, branches: Path) -> None:
    """As by any model, and in input_shapes."""
    with pytest.raises(ncc.InputError, match="no input 'dat'.*did you mean 'data'"):
        model.run({"dat": image(3, 8, 8)})
    with pytest.raises(ncc.InputError, match="no output 'prob'"):
        model.run({"data": image(3, 8, 8)}, ["prob"])
    with pytest.raises(ncc.InputError, match="no array was given for input 'data'"):
        model.run({})
    with pytest.raises(ncc.InputError, match="no input 'x'"):
        model.compiled({"x": (3, 8, 8)})
    wrong: list[Any] = [(3, 8, 8), {"data": 3}, {"data": "3x8x8"}, {"data": (3, None, 8)}]
    for shapes in wrong:
        with pytest.raises(ncc.InputError, match="input_shapes are told|for input 'data'"):
            model.compiled(shapes)
    with pytest.raises(ncc.InputError, match="no input 'x'"):
        ncc.compile(branches, random_weights=1, input_shapes={"x": (3, None, 8)})


def test_a_file_holds_one_set_of_shapes(model: OpenModel, tmp_path: Path) -> None:
    """`save` asks for it, and says how to give it."""
    with pytest.raises(ncc.InputError) as caught:
        model.save(tmp_path / "net.ncc")
    assert "--shape data=3x224x224" in str(caught.value)
    assert "input_shapes={'data': (3, 224, 224)}" in str(caught.value)
    model.save(tmp_path / "net.ncc", {"data": (3, 8, 8)})
    x = image(3, 8, 8)
    assert np.array_equal(ncc.load(tmp_path / "net.ncc")(x), model(x))


def test_what_is_pickled_has_its_shapes(model: OpenModel) -> None:
    """One of open shapes says so, and how to go on."""
    with pytest.raises(TypeError, match="cannot be pickled: pickle model.compiled"):
        pickle.dumps(model)
    x = image(3, 8, 8)
    settled = pickle.loads(pickle.dumps(model.compiled({"data": x.shape})))
    np.testing.assert_array_equal(settled(x), model(x))


def test_files_are_read_once(branches: Path) -> None:
    """A network may be edited or removed behind the back of a model."""
    model = ncc.compile(branches, random_weights=1)
    branches.unlink()
    assert model(image(3, 8, 8)).shape == (8, 8, 8)


def test_weights_that_changed_are_not_mixed_with_old_ones(branches: Path) -> None:
    """Each version packs weights; those of another file would belong to another network."""
    weights = np.full(1 + 216 + 8, 0.5, np.float32)
    weights[0] = 0.0  # the tag of fp32
    path = branches.with_suffix(".bin")
    path.write_bytes(weights.tobytes())
    model = ncc.compile(branches)
    before = model(image(3, 8, 8))
    path.write_bytes((weights * 2).tobytes() + bytes(4))
    assert np.array_equal(model(image(3, 8, 8)), before)
    assert isinstance(model, OpenModel)
    model._versions.models.clear()
    with pytest.raises(ncc.InputError, match="file has changed .* compile the network again"):
        model(image(3, 4, 4))
    path.unlink()
    with pytest.raises(ncc.InputError, match="file has changed"):
        model(image(3, 4, 4))


def test_files_are_where_they_were_named(
    branches: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also for a process that goes on in another folder."""
    branches.with_suffix(".bin").write_bytes(bytes(4 * (1 + 216 + 8)))
    monkeypatch.chdir(branches.parent)
    model = ncc.compile(branches.name)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert model(image(3, 8, 8)).shape == (8, 8, 8)


def test_equal_weights_are_in_memory_once(model: OpenModel) -> None:
    """Shapes whose weights are packed alike share them."""
    one, other = (model.compiled({"data": (3, n, n)}) for n in (48, 64))
    assert one.artifact.weights is other.artifact.weights


def test_a_closed_model_says_so(model: OpenModel) -> None:
    """Whether the shape was compiled before or not."""
    with model:
        model(image(3, 8, 8))
    for shape in ((3, 8, 8), (3, 4, 4)):
        with pytest.raises(ncc.NccError, match="closed"):
            model(image(*shape))


def test_threads_are_those_asked_for(branches: Path) -> None:
    """A call runs on the threads that the model was compiled for."""
    model = ncc.compile(branches, random_weights=1, num_threads=2)
    x = image(3, 8, 8)
    assert np.array_equal(model(x), ncc.compile(branches, random_weights=1)(x))
    assert isinstance(model, OpenModel)
    assert model.num_threads == model.compiled({"data": x.shape}).num_threads


def test_expressions_are_evaluated_for_every_shape(tmp_path: Path) -> None:
    """Reshape's and Crop's own rules see the extents of the call, on both inputs."""
    path = tmp_path / "net.param"
    path.write_text(EXPRESSIONS)
    model = ncc.compile(path, random_weights=3)
    weights: list[Any] = []
    for height, width in ((4, 6), (5, 3)):
        feeds = {"data": image(3, 9, 9), "like": image(3, height, width)}
        result = model.run(feeds)["out"]
        assert result.shape == (height * width, 5)
        weights.append(result)
    assert np.allclose(weights[0][0], weights[1][0], rtol=1e-5)  # the first pixel of both


CROP = """7767517
4 5
Input data 0 1 data 0=5 1=4 2=3
Input box 0 1 box 0=6
Split split 1 2 box b0 b1
Crop crop 2 1 data b0 out 0=-233
"""


@pytest.fixture
def crop(tmp_path: Path) -> Path:
    """A network whose result has the shape that an input's numbers say."""
    path = tmp_path / "crop.param"
    path.write_text(CROP)
    path.with_suffix(".bin").touch()
    return path


def test_values_decide_shapes(crop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every box is compiled for once, and gives what the layer means."""
    made = count_compilations(monkeypatch)
    model = ncc.compile(crop, outputs=["out"])
    assert [(b.name, b.dtype) for b in model.inputs] == [("data", "float32"), ("box", "int32")]
    x = image(3, 4, 5)
    for w, h, c in ((1, 2, 0), (0, 0, 2), (1, 2, 0)):
        box = np.array([w, h, c, 3, 2, 1], np.int32)
        found = model.run({"data": x, "box": box})["out"]
        np.testing.assert_array_equal(found, x[c : c + 1, h : h + 2, w : w + 3])
    assert len(made) == 2
    with pytest.raises(ncc.InputError, match="is empty or leaves the input"):
        model.run({"data": x, "box": np.full(6, 9, np.int32)})


def test_what_values_decide_is_not_compiled_ahead(crop: Path, tmp_path: Path) -> None:
    """A file holds one compilation, and no shape says which; a verification feeds what it needs."""
    model = ncc.compile(crop, outputs=["out"])
    with pytest.raises(ncc.InputError, match="the values of 'box' decide shapes: call the model"):
        model.save(tmp_path / "crop.ncc")
    report = verify(crop, feeds={"box": np.array([1, 2, 0, 3, 2, 1], np.int32)})
    assert report.first is None
    assert next(row.shape for row in report.rows if row.blob == "out") == (1, 2, 3)
