"""What the tests of several rooms share: recorded layer cases, and the check of one layer.

    @pytest.mark.layer("Pooling", without=["int8"])
    def test_recorded(case, check_layer):
        \"\"\"Pooling is what ncnn recorded.\"\"\"
        check_layer(case)

    def test_of_my_own(check_layer):
        check_layer("Dropout", {"scale": 0.5}, [np.ones(3)], expected=[np.full(3, 0.5)])

`case` runs over the cases of ../shared/cases, and skips where that folder is absent.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import zip_longest
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, TensorType, f32
from xdsl.dialects.test import TestOp
from xdsl.ir import Attribute, Block, Region

from ncc.compiler.linalg.evaluate import evaluate
from ncc.dialects.comprehension import Builder, Tensor
from ncc.dialects.element import element_of, element_of_dtype
from ncc.dialects.ncnn.layer import LAYERS, Array, Layer, ParamValue, Shape, WeightAttr
from ncc.dialects.rt import CodeOp

CASES = Path(__file__).parents[2] / "shared" / "cases"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--bless", action="store_true", help="rewrite the expected text of tests/ir")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        "layer(*types, only=(), without=()): `case` runs over the recorded cases of layer types, "
        "of those with a tag of `only` and none of `without`",
    )


@pytest.fixture(autouse=True, scope="session")
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Tests neither find nor leave compiled kernels in the user's cache."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NCC_CACHE_DIR", str(tmp_path_factory.mktemp("kernels")))
        yield


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    marker = metafunc.definition.get_closest_marker("layer")
    if marker is None or "case" not in metafunc.fixturenames:
        return
    if not CASES.is_dir():
        reason = pytest.mark.skip(reason="there is no ../shared/cases beside the checkout")
        metafunc.parametrize("case", [pytest.param(None, marks=reason)])
        return
    only, without = (set(marker.kwargs.get(key, ())) for key in ("only", "without"))
    cases = [case for type in marker.args for case in recorded(type) if not without & case.tags]
    cases = [case for case in cases if not only or only & case.tags]
    metafunc.parametrize("case", cases, ids=str)


# --- recorded cases -------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Case:
    """One run of one layer in ncnn's own tests.

    `tags` are those of the recording without what follows a colon, and "wheel" where the released
    wheel differs from the recording.
    """

    type: str
    id: str
    entry: Mapping[str, Any]

    def __str__(self) -> str:
        return f"{self.type}-{self.id}"

    @property
    def tags(self) -> set[str]:
        tags = {tag.partition(":")[0] for tag in self.entry["tags"]}
        return tags if self.entry["wheel"] == "ok" else tags | {"wheel"}

    @property
    def eps(self) -> float:
        return float(self.entry["eps"])

    @property
    def params(self) -> dict[str, ParamValue]:
        """The params by name, each in the kind that the layer declares."""
        declared = LAYERS[self.type].LAYER
        params: dict[str, ParamValue] = {}
        for id, kind, value in self.entry["pd"]:
            param = declared.param_of_id(id)
            if param is None:
                raise AssertionError(f"{self.type} has no param {id}, but ncnn's tests set it")
            params[param.name] = _param_value(param.kind, kind, value)
        return params

    @property
    def inputs(self) -> list[Array]:
        return self._plain(self._arrays("in", self.entry["inputs"]))

    @property
    def weights(self) -> list[Array]:
        return self._arrays("w", self.entry["weights"])

    @property
    def outputs(self) -> list[Array]:
        return self._plain(self._arrays("out", self.entry["outputs"]))

    def _plain(self, arrays: list[Array]) -> list[Array]:
        """The arrays without an axis of their own for the elements that ncnn packs together."""
        if "elempack" not in self.tags:
            return arrays
        rank = min(len(a["shape"]) for a in (*self.entry["inputs"], *self.entry["outputs"]))
        return [
            np.moveaxis(a, -1, 1).reshape(-1, *a.shape[1:-1]) if a.ndim > rank else a
            for a in arrays
        ]

    def _arrays(self, what: str, entries: Sequence[object]) -> list[Array]:
        held = _arrays_of(self.type)
        return [held[f"{self.id}_{what}{k}"] for k in range(len(entries))]


@cache
def _index() -> dict[str, Any]:
    return cast(dict[str, Any], json.loads((CASES / "index.json").read_text()))


@cache
def _arrays_of(type: str) -> Mapping[str, Array]:
    return cast(Mapping[str, Array], np.load(CASES / f"{type}.npz"))


def recorded(type: str) -> list[Case]:
    """The recorded cases of a layer type; none of one that no build of ncnn tests."""
    if type not in _index() and type in LAYERS:
        return []
    return [Case(type, entry["id"], entry) for entry in _index()[type]["cases"]]


def _param_value(declared: str, kind: str, value: Any) -> ParamValue:
    """A recorded value; floats are recorded as the int32 of their bits."""
    if kind == "str":
        return str(value)
    numbers = np.array(value, np.int32)
    if kind.endswith("float"):
        numbers = numbers.view(np.float32)
    as_float = declared.startswith("float")
    converted = numbers.astype(np.float64 if as_float else np.int64)
    return tuple(np.atleast_1d(converted).tolist()) if declared.endswith("s") else converted.item()


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
        expected, eps, layer = layer.outputs, layer.eps if eps is None else eps, layer.type
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
        assert tuple(extents) == array.shape, f"inferred {inferred}, but it is {array.shape}"
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
    """A verified function of the structured level that is this layer."""
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
    """Fail with the worst element where the arrays differ by more than ncnn's tests accept."""
    assert len(found) == len(expected), f"{what} has {len(found)} results, not {len(expected)}"
    for k, (a, b) in enumerate(zip(found, expected, strict=True)):
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
