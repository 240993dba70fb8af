"""LSTM, GRU and RNN."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import helper

import ncc
from ncc.compiler.diagnostics import Unsupported
from tests.onnx.models import check_operator, model, run_by_onnxruntime, written

RNG = np.random.default_rng(2)


def _numbers(*shape: int) -> Any:
    return RNG.standard_normal(shape, np.float32)


@pytest.mark.parametrize(
    ("kind", "gates", "states"), [("LSTM", 4, 2), ("GRU", 3, 1), ("RNN", 1, 1)]
)
@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
def test_weights_that_are_inputs(kind: str, gates: int, states: int, direction: str) -> None:
    """Steps one after the other are what ncnn's layer, the reference, computes."""
    ways = 2 if direction == "bidirectional" else 1
    w, r, bias = (
        _numbers(ways, gates * 3, 4),
        _numbers(ways, gates * 3, 3),
        _numbers(ways, gates * 6),
    )
    first = [_numbers(ways, 2, 3) for _ in range(states)]
    attributes: dict[str, Any] = {"hidden_size": 3, "direction": direction}
    if kind == "GRU":
        attributes["linear_before_reset"] = 1
    operands = [_numbers(3, 2, 4), w, r, bias, None, *first]
    check_operator(kind, attributes, operands, outputs=1 + states, rtol=1e-4, atol=1e-5)


def test_one_step_of_an_rnn() -> None:
    """h' = tanh(W x + U h)."""
    x, w, r, h = _numbers(1, 1, 4), _numbers(1, 3, 4), _numbers(1, 3, 3), _numbers(1, 1, 3)
    wanted = np.tanh(x[0] @ w[0].T + h[0] @ r[0].T)
    expected = [wanted[None, None], wanted[None]]
    operands = [x, w, r, None, None, h]
    check_operator("RNN", {"hidden_size": 3}, operands, expected=expected, outputs=2)


def test_other_activations_are_refused() -> None:
    """By their names."""
    operands = [_numbers(1, 1, 4), _numbers(1, 3, 4), _numbers(1, 3, 3)]
    with pytest.raises(Unsupported, match="RNN with the activations affine"):
        check_operator("RNN", {"hidden_size": 3, "activations": ["Affine"]}, operands)


CELLS_OF_ONNX = [("GRU", 3, {}), ("RNN", 1, {"activations": ["Relu"]}), ("LSTM", 4, {})]
"""A GRU that resets before the product, ReLU, and an LSTM that gets peepholes."""


@pytest.mark.parametrize("ways", [1, 2])
@pytest.mark.parametrize("samples", [1, 5])
@pytest.mark.parametrize(("kind", "gates", "attributes"), CELLS_OF_ONNX)
def test_cells_that_ncnn_has_not(
    kind: str, gates: int, attributes: dict[str, Any], samples: int, ways: int
) -> None:
    """They are what onnxruntime computes, over any number of steps, from given states."""
    attributes = {name: of * ways for name, of in attributes.items()}
    attributes |= {"hidden_size": 3, "direction": "bidirectional" if ways == 2 else "reverse"}
    matrices = _numbers(ways, gates * 3, 2) / 2, _numbers(ways, gates * 3, 3) / 3
    operands = [_numbers(70, samples, 2), *matrices, _numbers(ways, gates * 6), None]
    operands += [_numbers(ways, samples, 3) for _ in range(1 + (kind == "LSTM"))]
    operands += [_numbers(ways, 9)] * (kind == "LSTM")
    names = [f"in{k}" if one is not None else "" for k, one in enumerate(operands)]
    outputs = ["y", "h", "c"] if kind == "LSTM" else ["y", "h"]
    node = helper.make_node(kind, names, outputs, **attributes)
    fed = {name: one for name, one in zip(names, operands, strict=True) if name}
    shapes = {name: list(one.shape) for name, one in fed.items()}
    expected = run_by_onnxruntime(model([node], shapes, outputs), fed)
    how: dict[str, Any] = {"expected": expected, "outputs": len(outputs), "atol": 1e-5}
    check_operator(kind, attributes, operands, **how, rtol=1e-4)


@pytest.mark.parametrize(
    ("kind", "gates", "direction"),
    [
        ("RNN", 1, "bidirectional"),
        pytest.param("LSTM", 4, "bidirectional", marks=pytest.mark.slow),
        pytest.param("LSTM", 4, "reverse", marks=pytest.mark.slow),
        pytest.param("GRU", 3, "bidirectional", marks=pytest.mark.slow),
        pytest.param("RNN", 1, "forward", marks=pytest.mark.slow),
    ],
)
def test_any_steps_of_any_samples(tmp_path: Path, kind: str, gates: int, direction: str) -> None:
    """One compilation runs sequences of every length in batches of every size, from given states;
    one thread and two give the same bits.
    """
    ways = 2 if direction == "bidirectional" else 1
    weights = {
        "w": _numbers(ways, gates * 3, 4),
        "r": _numbers(ways, gates * 3, 3),
        "b": _numbers(ways, gates * 6),
    }
    states = ["h", "c"] if kind == "LSTM" else ["h"]
    attributes: dict[str, Any] = {"hidden_size": 3, "direction": direction}
    if kind == "GRU":
        attributes["linear_before_reset"] = 1
    names = ["x", *weights, "", *states]
    node = helper.make_node(kind, names, ["y", *(f"last_{s}" for s in states)], **attributes)
    inputs: dict[str, list[int | str]] = {"x": ["steps", "samples", 4]}
    inputs |= {state: [ways, "samples", 3] for state in states}
    made = model([node], inputs, node.output, weights)
    path = written(tmp_path, made)
    one, two = (ncc.compile(path, num_threads=threads) for threads in (1, 2))
    for steps, samples in ((5, 3), (2, 4), (3, 9)):
        fed = {s: _numbers(ways, samples, 3) for s in states} | {"x": _numbers(steps, samples, 4)}
        found, again = one.run(fed), two.run(fed)
        for name, wanted in zip(node.output, run_by_onnxruntime(made, fed), strict=True):
            np.testing.assert_allclose(found[name], wanted, rtol=1e-4, atol=1e-5)
            assert found[name].tobytes() == again[name].tobytes()
    assert "for all shapes: 1" in repr(one)
