"""What the tests of several rooms share: recorded layer cases, and the check of one layer.

    @pytest.mark.layer("Pooling", without=["int8"])
    def test_recorded(case, check_layer):
        \"\"\"Pooling is what ncnn recorded.\"\"\"
        check_layer(case)

    def test_of_my_own(check_layer):
        check_layer("Dropout", {"scale": 0.5}, [np.ones(3)], expected=[np.full(3, 0.5)])

`case` runs over the cases of ../shared/cases, and skips where that folder is absent. A usual run
has one of six of each layer type.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, TensorType, f32
from xdsl.dialects.test import TestOp
from xdsl.ir import Attribute, Block, Region

from ncc.dialects.code import CodeOp
from ncc.dialects.element import element_of, element_of_dtype
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.ncnn.layer import LAYERS, Array, Layer, ParamValue, Shape, WeightAttr
from ncc.runtime import cpu
from tests import left_out
from tests.crossed import in_turn
from tests.layer_table import TABLE, LayerTable
from tests.recorded import CASES, Case, recorded
from tests.runnable import skipped_on_a_lesser_cpu
from tests.structured.evaluate import evaluate

# Every run tries the same examples, however long a machine takes for them. Others are tried by
# `pytest --hypothesis-profile=default`.
settings.register_profile(
    "ncc",
    max_examples=50,
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("ncc")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--bless", action="store_true", help="rewrite the expected text of tests/ir")
    parser.addoption("--layer-table", metavar="FILE", help="run all recordings, tell how they went")


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """A run of all tests uses all cores; one of some tests is over sooner without workers."""
    whole = config.args_source is pytest.Config.ArgsSource.TESTPATHS
    chosen = config.option.keyword or config.option.layer_table or config.option.usepdb
    return cpu.cores() if whole and not chosen else 0


def pytest_configure(config: pytest.Config) -> None:
    # The IR has many objects. A rare collection looks at those of many compilations at once: most
    # are garbage by then, and no object is looked at twice.
    gc.set_threshold(1_000_000, 5, 20)
    config.addinivalue_line(
        "markers",
        "layer(*types, only=(), without=()): `case` runs over the recorded cases of layer types, "
        "of those with a tag of `only` and none of `without`",
    )
    config.stash[TABLE] = LayerTable()
    if config.getoption("--layer-table"):
        config.option.markexpr = "layer_table"


def pytest_itemcollected(item: pytest.Item) -> None:
    """A test of the sweep is not slow, too: `-m slow` would run it."""
    if all(item.get_closest_marker(name) for name in ("slow", "sweep")):
        raise pytest.UsageError(f"{item.nodeid} is both slow and of the sweep")


def pytest_collection_finish() -> None:
    """Modules and tests stay until the end: the garbage collector looks for garbage behind them."""
    gc.freeze()


def pytest_sessionfinish(session: pytest.Session) -> None:
    if path := session.config.getoption("--layer-table"):
        table = Path(path)
        before = table.read_text() if table.exists() else ""
        table.write_text(session.config.stash[TABLE].text(before))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if found := [*left_out.lines(terminalreporter.stats.get("skipped", []))]:
        terminalreporter.section("left out")
        for line in found:
            terminalreporter.line(line)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Generator[None, object, object]:
    with skipped_on_a_lesser_cpu():
        return (yield)


@pytest.fixture(autouse=True, scope="session")
def _shared_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Tests neither find nor leave compiled kernels in the user's cache; all workers share one.

    Models are kept for tests of the cache only: others change ncc while it runs.
    """
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NCC_CACHE", "kernels")
        patch.setenv("NCC_CACHE_DIR", str(folder / "kernels"))
        if sys.dont_write_bytecode:
            # Else each process that a test starts compiles the modules of ncc for itself.
            patch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
            patch.setenv("PYTHONPYCACHEPREFIX", str(folder / "bytecode"))
        yield


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a cache that one test has for itself, with kernels and models."""
    folder = tmp_path / "kernels"
    monkeypatch.setenv("NCC_CACHE_DIR", str(folder))
    monkeypatch.delenv("NCC_CACHE", raising=False)
    return folder


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    marker = metafunc.definition.get_closest_marker("layer")
    if marker is None or "case" not in metafunc.fixturenames:
        return
    if not CASES.is_dir():
        reason = pytest.mark.skip(reason="there is no ../shared/cases beside the checkout")
        metafunc.parametrize("case", [pytest.param(None, marks=reason)])
        return
    only, without = (set(marker.kwargs.get(key, ())) for key in ("only", "without"))

    def meant(case: Case) -> bool:
        return not without & case.tags and (not only or bool(only & case.tags))

    of_types = (filter(meant, recorded(type)) for type in marker.args)
    cases = [case for of_type in of_types for case in in_turn(of_type, every=6)]
    metafunc.parametrize("case", cases, ids=str)


@pytest.fixture(scope="session")
def recorded_cases() -> Callable[[str], list[Case]]:
    """recorded_cases("Pooling"): all recorded cases of a layer type."""
    if not CASES.is_dir():
        pytest.skip("there is no ../shared/cases beside the checkout")
    return recorded


# --- the check of one layer -----------------------------------------------------------------


@pytest.fixture(scope="session")
def check_layer() -> Callable[..., list[Array]]:
    """check_layer(case) or check_layer(type, params, inputs, weights, expected=, eps=, ...)."""
    return check


def check(
    layer: Case | str,
    params: Mapping[str, ParamValue] | None = None,
    inputs: Sequence[Array] = (),
    weights: Sequence[Array] = (),
    *,
    expected: Sequence[Array] | None = None,
    outputs: int = 1,
    eps: float | None = None,
    expand: bool = True,
    reference: bool = True,
) -> list[Array]:
    """Judge shapes, reference and evaluated expansion of one layer; returns what was expected.

    Without `expected`, the expansion is judged by the reference. An expansion with `rt.code` is
    verified, but only compiled code can run it. A value d is right where |d - e| <= eps or
    |d - e| < eps * max(|d|, |e|), and where both are the same infinity or NaN.
    """
    if isinstance(layer, Case):
        params, inputs, weights = layer.params, layer.inputs, layer.weights
        expected, eps, layer = layer.expected, layer.eps if eps is None else eps, layer.type
    eps = 1e-4 if eps is None else eps
    op = build_layer(layer, params or {}, inputs, weights, len(expected or ()) or outputs)
    shapes = op.infer_all([array.shape for array in inputs])
    op.element_types_all([element_of(value) for value in op.operands])
    if reference:
        computed = op.reference_all(inputs)
        compare("the reference", computed, computed if expected is None else expected, eps)
        expected = computed if expected is None else expected
    if expected is None:
        raise ValueError("nothing to judge by: neither `expected` nor the reference")
    for inferred, array in zip(shapes, expected, strict=True):
        extents = [s if s >= 0 else n for s, n in zip_longest(inferred, array.shape, fillvalue=0)]
        fits = tuple(extents) == array.shape or array.size == 0
        assert fits, f"inferred {inferred}, but it is {array.shape}"
    if expand:
        function = expand_layer(op, [array.shape for array in inputs], elements_of(inputs))
        if not any(isinstance(inner, CodeOp) for inner in function.walk()):
            compare("the expansion", evaluate(function, inputs), expected, eps)
    return list(expected)


def build_layer(
    type: str,
    params: Mapping[str, ParamValue],
    inputs: Sequence[Array],
    weights: Sequence[Array],
    outputs: int,
) -> Layer:
    """A verified layer on inputs of the arrays' shapes; weights in the order they are declared."""
    types = zip(elements_of(inputs), inputs, strict=True)
    sources = TestOp(result_types=[TensorType(element, array.shape) for element, array in types])
    blobs = [f"out{k}" for k in range(outputs)]
    op = LAYERS[type].make(sources.results, params, name="layer", blobs=blobs)
    op.check()
    declared = [(w.name, shape) for w in op.LAYER.weights.values() if (shape := w.shape(op))]
    for (name, shape), array in zip(declared, weights, strict=True):
        op.properties[name] = WeightAttr.of(array.reshape(shape))
    op.verify()
    return op


def elements_of(arrays: Sequence[Array]) -> list[Attribute]:
    """The element types of blobs; a list that stands for an array is one of float32."""
    return [element_of_dtype(a.dtype) if a.dtype != np.float64 else f32 for a in arrays]


def expand_layer(
    op: Layer, shapes: Sequence[Shape], elements: Sequence[Attribute] | None = None
) -> func.FuncOp:
    """A verified function of the linalg level that is this layer."""
    kinds = zip(elements or [f32] * len(shapes), shapes, strict=True)
    block = Block(arg_types=[TensorType(element, list(shape)) for element, shape in kinds])
    tensors = [Tensor(arg, shape) for arg, shape in zip(block.args, shapes, strict=True)]
    results = [tensor.value for tensor in op.expand_all(Builder(block, op.layer_name), tensors)]
    block.add_op(func.ReturnOp(*results))
    types = ([arg.type for arg in block.args], [result.type for result in results])
    function = func.FuncOp("layer", types, Region(block))
    ModuleOp([function]).verify()
    return function


def compare(what: str, found: Sequence[Array], expected: Sequence[Array], eps: float) -> None:
    """Fail with the worst element where the arrays differ by more than ncnn's tests accept.

    ncnn's arrays without elements have no shape to be compared.
    """
    assert len(found) == len(expected), f"{what} has {len(found)} results, not {len(expected)}"
    for k, (a, b) in enumerate(zip(found, expected, strict=True)):
        if a.size == b.size == 0:
            continue
        assert a.shape == b.shape, f"result {k} of {what} is {a.shape}, not {b.shape}"
        x, y = np.asarray(a, np.float64), np.asarray(b, np.float64)
        with np.errstate(invalid="ignore"):
            distance = np.abs(x - y)
            near = distance <= np.maximum(eps, eps * np.maximum(np.abs(x), np.abs(y)))
        wrong = ~(near | (x == y) | (np.isnan(x) & np.isnan(y)))
        if wrong.any():
            score = np.where(wrong, np.nan_to_num(distance, nan=np.inf), -1.0)
            at = np.unravel_index(int(score.argmax()), score.shape)
            place = ", ".join(map(str, at))
            raise AssertionError(
                f"result {k} of {what} is {x[at]} at [{place}], not {y[at]}; "
                f"{wrong.sum()} of {wrong.size} elements are wrong"
            )
