"""The attentions of onnxruntime are computed as it does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
import pytest
from onnx import helper

from ncc.compiler.diagnostics import ModelError, Unsupported
from ncc.dialects.ncnn.layer import Array
from tests.crossed import some
from tests.onnx.models import model, run, run_by_onnxruntime

Given: TypeAlias = Mapping[str, Array | None]

NUMBERS = np.random.default_rng(0)


def rand(*shape: int) -> Array:
    """Numbers of a normal distribution."""
    return NUMBERS.standard_normal(shape).astype(np.float32)


def ints(*numbers: Any) -> Array:
    """Integers of 32 bits."""
    return np.array(numbers, np.int32)


def made(kind: str, fed: Given, outputs: int, **attributes: Any) -> Any:
    """A model of one node; operands that are None are left out."""
    names = [name if array is not None else "" for name, array in fed.items()]
    results = [f"y{k}" for k in range(outputs)]
    node = helper.make_node(kind, names, results, domain="com.microsoft", **attributes)
    given = {name: array for name, array in fed.items() if array is not None}
    found = model([node], given, results, ir_version=10)
    found.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    for output in found.graph.output:
        output.type.tensor_type.elem_type = 1
    return found


CACHE = {"past_key": rand(2, 2, 3, 4), "past_value": rand(2, 2, 3, 4)}
ROWS = {name: rand(2, 5, 8) for name in "qkv"}
NONE = dict.fromkeys(("bias", "mask", "added"))

MULTI_HEAD: dict[str, tuple[Given, dict[str, Any]]] = {
    "plain": (ROWS, {}),
    "scale and bias": ({**ROWS, "bias": rand(24)}, {"scale": 0.3}),
    "mask of keys": ({**ROWS, "bias": None, "mask": ints([1, 1, 1, 0, 0], [1, 0, 1, 1, 1])}, {}),
    "counts of keys": ({**ROWS, "bias": None, "mask": ints(2, 5)}, {}),
    "added": ({**ROWS, "bias": None, "mask": None, "added": rand(2, 2, 5, 5)}, {}),
    "causal": (ROWS, {"unidirectional": 1}),
    "cache": ({**ROWS, **NONE, **CACHE}, {}),
    "causal cache": ({**ROWS, **NONE, **CACHE}, {"unidirectional": 1}),
    "keys by heads": ({"q": rand(2, 5, 8), "k": rand(2, 2, 3, 4), "v": rand(2, 2, 3, 4)}, {}),
}


def check(kind: str, fed: Given, outputs: int, **attributes: Any) -> None:
    """Compiled code and onnxruntime make the same."""
    one = made(kind, fed, outputs, **attributes)
    given = {name: array for name, array in fed.items() if array is not None}
    wanted = run_by_onnxruntime(one, given)
    for found, expected in zip(run(one, given), wanted, strict=True):
        np.testing.assert_allclose(found, expected, 1e-4, 1e-5)


@pytest.mark.parametrize("case", some(sorted(MULTI_HEAD), 1))
def test_multi_head_attention(case: str) -> None:
    """With masks and caches."""
    fed, attributes = MULTI_HEAD[case]
    outputs = 3 if "past_key" in fed else 1
    check("MultiHeadAttention", fed, outputs, num_heads=2, **attributes)


PROJECTED = {"x": rand(2, 5, 6), "weights": rand(6, 24), "bias": rand(24)}

ATTENTION: dict[str, tuple[Given, dict[str, Any]]] = {
    "plain": (PROJECTED, {}),
    "mask of keys": ({**PROJECTED, "mask": ints([1, 1, 1, 0, 0], [1, 0, 1, 1, 1])}, {}),
    "mask of rows": ({**PROJECTED, "mask": NUMBERS.integers(0, 2, (2, 5, 5), np.int32)}, {}),
    "counts of keys": ({**PROJECTED, "mask": ints(2, 5)}, {"scale": 0.4}),
    "causal": (PROJECTED, {"unidirectional": 1}),
    "cache": ({**PROJECTED, "mask": None, "past": rand(2, 2, 2, 3, 4)}, {"unidirectional": 1}),
}


@pytest.mark.parametrize("case", some(sorted(ATTENTION), 1))
def test_attention(case: str) -> None:
    """With its projection."""
    fed, attributes = ATTENTION[case]
    check("Attention", fed, 2 if "past" in fed else 1, num_heads=2, **attributes)


GROUPED = {"q": rand(1, 3, 64), "k": rand(1, 3, 32), "v": rand(1, 3, 32)}
TABLES = {"cosines": rand(16, 4), "sines": rand(16, 4)}
WIDE = {"cosines": rand(16, 8), "sines": rand(16, 8)}


GROUPS: list[dict[str, Any]] = [
    {"do_rotary": 1, "rotary_interleaved": 1, "scale": 0.2},
    {"do_rotary": 1},
    {"local_window_size": 2, "softcap": 3.0},
    {},
]


@pytest.mark.parametrize("before", some([4, 0], 1))
@pytest.mark.parametrize("attributes", some(GROUPS, 1))
def test_group_query_attention(attributes: dict[str, Any], before: int) -> None:
    """Two heads of queries share one of keys; rows go behind those of the cache."""
    rows = 1 if before else 3
    cache = {name: rand(1, 2, before, 16) if before else None for name in CACHE}
    fed = {name: array[:, :rows] for name, array in GROUPED.items()} | cache
    fed |= {"last": ints(before + rows - 1), "total": np.array(before + rows, np.int32)}
    fed |= WIDE if "do_rotary" in attributes else {}
    counts = {"num_heads": 4, "kv_num_heads": 2}
    check("GroupQueryAttention", fed, 3, **counts, **attributes)


@pytest.mark.slow
def test_caches_of_several_lengths() -> None:
    """The rows of a sample go behind those that its count says."""
    fed: dict[str, Array | None] = {"q": rand(2, 1, 32), "k": rand(2, 1, 16), "v": rand(2, 1, 16)}
    fed |= {name: rand(2, 2, 3, 8) for name in CACHE}
    fed |= {"last": ints(1, 3), "total": np.array(4, np.int32)}
    one = made("GroupQueryAttention", fed, 3, num_heads=4, kv_num_heads=2)
    given = {name: array for name, array in fed.items() if array is not None}
    found, wanted = run(one, given), run_by_onnxruntime(one, given)
    np.testing.assert_allclose(found[0], wanted[0], 1e-4, 1e-5)
    for ours, theirs in zip(found[1:], wanted[1:], strict=True):
        for sample, count in enumerate((2, 4)):  # onnxruntime leaves the others as they were
            np.testing.assert_array_equal(ours[sample, :, :count], theirs[sample, :, :count])


@pytest.mark.parametrize("paired", some([1, 0], 1))
@pytest.mark.parametrize("rows", [np.array([2]), np.array([[0, 3, 1], [5, 4, 2]])])
def test_rotary_embedding(rows: Array, paired: int) -> None:
    """By a first position, or one for each row."""
    fed = {"x": rand(2, 3, 16), "rows": rows, **TABLES}
    check("RotaryEmbedding", fed, 1, interleaved=paired)
    fed["x"] = rand(2, 2, 3, 10)
    check("RotaryEmbedding", fed, 1, interleaved=paired, rotary_embedding_dim=8, num_heads=2)


@pytest.mark.parametrize(
    ("kind", "fed", "attributes"),
    [
        ("MultiHeadAttention", {"q": rand(2, 5, 2, 3, 4)}, {}),
        ("Attention", {**PROJECTED, "mask": ints(1, 2, 3, 4)}, {}),
        ("Attention", PROJECTED, {"do_rotary": 1}),
    ],
)
def test_what_is_not_computed_is_refused(
    kind: str, fed: dict[str, Array], attributes: dict[str, Any]
) -> None:
    """By name."""
    with pytest.raises(Unsupported, match=kind):
        run(made(kind, dict(fed), 1, num_heads=2, **attributes), fed)


@pytest.mark.parametrize(
    ("kind", "fed"),
    [
        ("MultiHeadAttention", {name: rand(5, 8) for name in "qkv"}),
        ("Attention", {"x": rand(5, 6), "weights": rand(6, 24)}),
        ("GroupQueryAttention", {**{name: rand(5, 8) for name in "qkv"}, "past": rand(8)}),
        ("RotaryEmbedding", {"x": rand(3, 8), "rows": np.array([2]), **TABLES}),
    ],
)
def test_operands_of_other_ranks(kind: str, fed: dict[str, Array]) -> None:
    """The file is at fault."""
    with pytest.raises(ModelError, match=kind):
        run(made(kind, dict(fed), 1, num_heads=2), fed)
