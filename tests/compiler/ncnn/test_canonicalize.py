"""Canonicalization keeps every number, every input and every output, and says what it did."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.transforms.canonicalize import CanonicalizePass

from ncc.compiler.diagnostics import ModelError, Unsupported
from ncc.compiler.ncnn.canonicalize import canonicalization_names, canonicalize
from ncc.compiler.ncnn.infer_shapes import infer_shapes
from ncc.compiler.ncnn.optimize import explain
from ncc.compiler.ncnn.rewrite import Rewrite
from ncc.compiler.read.read_network import read
from ncc.compiler.verification.interpret import interpret
from ncc.dialects.ncnn.layer import shape_of
from ncc.dialects.ncnn.network import Network
from ncc.runtime.errors import InputError
from tests.ncnn_text import parse

GOLDEN = Path(__file__).parents[2] / "ir" / "ncnn" / "canonicalize"
CASES = sorted(GOLDEN.glob("*.mlir"))

CORE = [
    "eliminate_dropout",
    "eliminate_flatten_after_global_pooling",
    "eliminate_flatten_after_innerproduct",
    "eliminate_noop",
    "eliminate_orphaned_memorydata",
    "eliminate_pooling1x1",
    "eliminate_reshape_after_global_pooling",
    "eliminate_split",
    "replace_reduction_with_global_pooling",
]


def golden(name: str) -> ModuleOp:
    """The first module of a golden file."""
    return parse((GOLDEN / f"{name}.mlir").read_text().partition("// -- becomes --")[0])


def ncnn_text(body: str, outputs: dict[str, str]) -> str:
    names = ", ".join(f'"{name}"' for name in outputs)
    values = ", ".join(f"%{value}" for value in outputs.values())
    types = ", ".join("tensor<*xf32>" for _ in outputs)
    return (
        f"builtin.module {{ func.func @network() -> ({types}) attributes {{outputs = [{names}]}} {{"
        f"{body} func.return {values} : {types} }} }}"
    )


def feeds(module: ModuleOp) -> dict[str, np.ndarray]:
    """Random inputs; infinities and NaN come from nowhere else."""
    generator = np.random.default_rng(0)
    inputs = Network.of(module).inputs
    return {
        n: np.asarray(generator.standard_normal(shape_of(v), np.float32)) for n, v in inputs.items()
    }


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_numbers_stay(path: Path) -> None:
    """The references compute the same before and after, by the same names; a second run is idle."""
    module = golden(path.stem)
    infer_shapes(module)
    arrays = feeds(module)
    before = interpret(module, arrays)
    rewrites = canonicalize(module)
    module.verify()
    after = interpret(module, arrays)
    assert list(after) == list(before)
    assert list(Network.of(module).inputs) == list(arrays)
    for name, array in before.items():
        assert after[name].shape == array.shape
        np.testing.assert_allclose(after[name], array, rtol=1e-6, atol=1e-7)
    assert not canonicalize(module)
    if "_not_" not in path.stem:
        pattern = max(filter(path.stem.startswith, canonicalization_names()), key=len)
        assert pattern in [rewrite.pattern for rewrite in rewrites]
    elif "unranked" not in path.stem:  # those fire here, where shapes are known
        assert not rewrites


ALWAYS_LEGAL = {
    "eliminate_common_layer",
    "eliminate_dead_layer",
    "eliminate_deepcopy",
    "eliminate_flatten_after_global_pooling",
    "eliminate_noop",
    "eliminate_split",
    "fuse_permute_permute",
    "fuse_reshape_reshape",
}


@pytest.mark.parametrize("pattern", canonicalization_names())
def test_every_pattern_has_golden_text(pattern: str) -> None:
    """Each pattern fires in some file and, if it can be refused, is refused in another."""
    names = [path.stem for path in CASES if path.stem.startswith(pattern)]
    fires = [name for name in names if "_not_" not in name]
    refused = set(names) - set(fires)
    assert fires, f"no tests/ir/ncnn/canonicalize/{pattern}_<case>.mlir: where it fires"
    assert refused or pattern in ALWAYS_LEGAL, f"no {pattern}_not_<reason>.mlir beside it"


def test_the_patterns_are_those_of_ncnnoptimize() -> None:
    """All eliminations of the mission and one replacement are there, by ncnnoptimize's names."""
    assert set(CORE) < set(canonicalization_names())


def test_rewrites_are_recorded_with_their_places() -> None:
    """A record names the pattern, the layers and their lines."""
    layers = """
      %x = ncnn.Input() {w = 8 : i32, layer = "in", blobs = ["x"], line = 3 : i32}
        : () -> tensor<*xf32>
      %y = ncnn.Dropout(%x) {layer = "drop", blobs = ["y"], line = 4 : i32}
        : (tensor<*xf32>) -> tensor<*xf32>
    """
    module = parse(ncnn_text(layers, {"y": "y"}))
    record = canonicalize(module)
    assert record == [Rewrite("eliminate_dropout", ("drop",), (4,), "in")]
    assert str(record[0]) == "eliminate_dropout drop"


def test_reasons_can_be_asked_for() -> None:
    """`explain` names the layer and the reason, and knows no pattern of another name."""
    module = golden("eliminate_dropout_not_scaled")
    assert explain(module, "eliminate_dropout") == [("y", "its scale is 0.5, not 1")]
    assert explain(module, "eliminate_noop") == []
    with pytest.raises(InputError, match="eliminate_dropout"):
        explain(module, "eliminate_dropuot")


def test_xdsl_drives_the_patterns_too() -> None:
    """Plain `canonicalize` of xDSL finds the patterns on the ops."""
    module = golden("eliminate_flatten_after_global_pooling_unranked")
    CanonicalizePass().apply(Context(), module)
    module.verify()
    assert [layer.LAYER.type for layer in Network.of(module).layers] == ["Input", "Pooling"]


def test_the_largest_of_infinities_is_not_pooled() -> None:
    """A maximum over minus infinity is -FLT_MAX; a Pooling there would say minus infinity."""
    module = golden("replace_reduction_with_global_pooling_not_max")
    infer_shapes(module)
    array = np.full((3, 4, 5), -np.inf, np.float32)
    canonicalize(module)
    largest = interpret(module, {"data": array})["y"]
    np.testing.assert_array_equal(largest, np.full(3, np.finfo(np.float32).min))


def test_nan_passes_a_pooling_that_vanishes() -> None:
    """The window of one cell is the cell, NaN and infinities included."""
    module = golden("eliminate_pooling1x1_average_same")
    infer_shapes(module)
    array = np.zeros((3, 4, 5), np.float32)
    array[0, 0, :3] = np.nan, np.inf, -np.inf
    before = interpret(module, {"data": array})["y"]
    canonicalize(module)
    np.testing.assert_array_equal(interpret(module, {"data": array})["y"], before)


def test_chains_of_identities_vanish() -> None:
    """Split, Dropout and Noop behind each other leave the input, in one call."""
    layers = """
      %x = ncnn.Input() {w = 8 : i32, blobs = ["x"]} : () -> tensor<*xf32>
      %a, %b = ncnn.Split(%x) : (tensor<*xf32>) -> (tensor<*xf32>, tensor<*xf32>)
      %c = ncnn.Dropout(%a) : (tensor<*xf32>) -> tensor<*xf32>
      %d, %e = ncnn.Noop(%c, %b) : (tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>, tensor<*xf32>)
      %f = ncnn.Dropout(%d) : (tensor<*xf32>) -> tensor<*xf32>
    """
    module = parse(ncnn_text(layers, {"f": "f", "e": "e"}))
    assert len(canonicalize(module)) == 4
    network = Network.of(module)
    assert set(network.outputs.values()) == {network.inputs["x"]}


# --- against what ncnnoptimize did ----------------------------------------------------------

RECORDED = Path(__file__).parents[4] / "shared" / "golden"
SUMMARY = RECORDED / "graphs.json"
GRAPHS: dict[str, Any] = json.loads(SUMMARY.read_text()) if SUMMARY.exists() else {}

# Constants are orphaned by folds, which are no canonicalization.
AFTER_FOLDS = {"eliminate_orphaned_memorydata"}


@pytest.mark.skipif(not GRAPHS, reason="there is no ../shared/golden beside the checkout")
def test_recorded_graphs_keep_their_numbers() -> None:
    """Every graph that ncnnoptimize was run on computes the same after canonicalization."""
    for name in GRAPHS:
        module = recorded_graph(name)
        if module is None:
            continue
        arrays = feeds(module)
        before = interpret(module, arrays)
        canonicalize(module)
        module.verify()
        after = interpret(module, arrays)
        assert list(after) == list(before), name
        for blob, array in before.items():
            assert after[blob].shape == array.shape, name
            np.testing.assert_allclose(after[blob], array, rtol=1e-5, atol=1e-6, err_msg=name)


@pytest.mark.skipif(not GRAPHS, reason="there is no ../shared/golden beside the checkout")
def test_what_ncnnoptimize_did_right_is_done() -> None:
    """Where ncnnoptimize fired one of these passes and outputs stayed equal, ncc fires too."""
    checked = set()
    for name, graph in GRAPHS.items():
        run = graph["shape"]
        wanted = (set(run["fired"]) & set(CORE)) - AFTER_FOLDS
        if not wanted or run.get("wheel", True) or run.get("naive", True):
            continue
        module = recorded_graph(name)
        if module is None:
            continue
        fired = {rewrite.pattern for rewrite in canonicalize(module)}
        assert wanted <= fired, f"{name}: {wanted - fired}"
        checked |= wanted
    assert len(checked) >= 6, checked


def recorded_graph(name: str) -> ModuleOp | None:
    """A graph before ncnnoptimize, with shapes; None where it asks for what ncc lacks."""
    path = RECORDED / "graphs" / f"{name}.in.param"
    try:
        module = read(path, path.with_suffix(".bin")).module
        infer_shapes(module)
    except (ModelError, Unsupported):
        return None
    return module


@pytest.mark.parametrize(
    "lines",
    [
        "Pooling p 1 1 x p 0=1 1=2\nFlatten y 1 1 p y",
        "Pooling p 1 1 x p 0=1 1=2\nReshape y 1 1 p y 0=-1",
        'Pooling p 1 1 x p 0=1 4=1\nReshape y 1 1 p y 0=-1 6="0w,1"',
    ],
    ids=["windows", "windows as one row", "an expression"],
)
def test_views_of_what_may_be_no_vector_stay(net: Any, optimized: Any, lines: str) -> None:
    """Where shapes are not known, only what is said of the layer counts."""
    assert not optimized(net(f"Input x 0 1 x\n{lines}", shapes=False))


def test_a_view_that_others_read_stays_for_them(net: Any, optimized: Any) -> None:
    """The inner product reads past it all the same."""
    lines = "Input x 0 1 x 0=3 1=2 2=2\nFlatten f 1 1 x f\nInnerProduct y 1 1 f y 0=4 2=48"
    module = net(lines, outputs=["f", "y"])
    assert optimized(module) == ["eliminate_reshape_before_innerproduct"]
    assert len(Network.of(module).layers) == 3
