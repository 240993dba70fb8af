"""Recurrent layers: the references against ncnn, and what holds of any sequence.

Compiled expansions are held to ncnn in tests/compiler/test_pipeline.py and tests/networks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from ncc.dialects.ncnn.layer import LAYERS, LayerError
from ncc.dialects.ncnn.recurrent.recurrent import Recurrent

Array = np.ndarray[Any, Any]
Check = Callable[..., list[Array]]

ROWS = {"RNN": (1, 1), "GRU": (3, 4), "LSTM": (4, 4)}
"""Gates, and rows of the bias."""

TYPES = pytest.mark.parametrize("type", ROWS)


@pytest.mark.layer("RNN", "GRU", "LSTM")
def test_recorded(case: Any, check_layer: Check) -> None:
    """Each is what ncnn recorded, int8 weights among them."""
    check_layer(case)


def logistic(x: float) -> float:
    return float(1 / (1 + np.exp(-x)))


def test_rnn_by_hand(check_layer: Check) -> None:
    """h' = tanh(x + 2 + 3 h), from nothing."""
    first = np.tanh(3)
    expected = np.array([[first], [np.tanh(-1 + 2 + 3 * first)]])
    params = {"num_output": 1, "weight_data_size": 1}
    weights = [np.array([w], np.float32) for w in (1, 2, 3)]
    x = np.array([[1], [-1]], np.float32)
    check_layer("RNN", params, [x], weights, expected=[expected])


def test_gru_by_hand(check_layer: Check) -> None:
    """The reset gate reaches what the hidden state and its own bias give, nothing else."""
    params = {"num_output": 1, "weight_data_size": 3}
    weights = [np.array(w, np.float32) for w in ([1, 2, 3], [0.1, 0.2, 0.3, 0.4], [4, 5, 6])]
    h = 0.5
    reset, update = logistic(1 + 0.1 + 4 * h), logistic(2 + 0.2 + 5 * h)
    new = np.tanh(3 + 0.3 + reset * (6 * h + 0.4))
    expected = np.array([[(1 - update) * new + update * h]])
    inputs = [np.ones((1, 1), np.float32), np.full((1, 1), h, np.float32)]
    check_layer("GRU", params, inputs, weights, expected=[expected, expected])


def test_lstm_by_hand(check_layer: Check) -> None:
    """Gates stand in the order i, f, o, g; two numbers are projected to one by [1, -2]."""
    params = {"num_output": 1, "hidden_size": 2, "weight_data_size": 8}
    gates = np.array([0.1, -0.2, 0.3, -0.4, 0.5, -0.6, 0.7, -0.8], np.float32)
    weights = [gates, np.zeros(8, np.float32), 2 * gates, np.array([1, -2], np.float32)]
    c, h = np.array([0.3, -0.9]), 0.25
    i, f, o, g = (gates.astype(np.float64) * (1 + 2 * h)).reshape(4, 2)
    c2 = c / (1 + np.exp(-f)) + np.tanh(g) / (1 + np.exp(-i))
    h2 = np.tanh(c2) / (1 + np.exp(-o)) @ [1, -2]
    inputs = [np.array(a, np.float32) for a in ([[1]], [[h]], [c])]
    expected = [np.array(a) for a in ([[h2]], [[h2]], [c2])]
    check_layer("LSTM", params, inputs, weights, expected=expected)


# --- what holds of any sequence -------------------------------------------------------------------


def params_of(type: str, size: int, outputs: int, **params: int) -> dict[str, int]:
    directions = 2 if params.get("direction") == 2 else 1
    hidden = params.get("hidden_size", outputs)
    count = directions * ROWS[type][0] * hidden * size
    return {"num_output": outputs, "weight_data_size": count, **params}


def weights_of(type: str, params: dict[str, int]) -> list[Array]:
    """Random weights, in the order of the file."""
    generator = np.random.default_rng(3)
    op = LAYERS[type].make([], params)
    weights = []
    for weight in op.LAYER.weights.values():
        shape = weight.shape(op)
        if shape is None:
            continue
        values = generator.uniform(-1, 1, shape).astype(np.float32)
        if weight.name.endswith("scales"):
            values = np.abs(values) + 60
        elif weight.packed:
            values = (values * 127).astype(np.int8)
        weights.append(values)
    return weights


def sequence(steps: int, size: int) -> Array:
    return np.random.default_rng(4).uniform(-1, 1, (steps, size)).astype(np.float32)


def reference(
    check: Check, type: str, params: dict[str, int], inputs: Sequence[Array], weights: list[Array]
) -> list[Array]:
    outputs = 3 if type == "LSTM" else 2
    return check(type, params, inputs, weights, outputs=outputs)


@TYPES
@pytest.mark.parametrize("term", [0, 2])
def test_a_sequence_in_two_halves(type: str, term: int, check_layer: Check) -> None:
    """States that come out of the first half and go into the second make the whole."""
    params = params_of(type, 3, 5, int8_scale_term=term)
    weights, x = weights_of(type, params), sequence(7, 3)
    whole = reference(check_layer, type, params, [x], weights)
    first, *states = reference(check_layer, type, params, [x[:4]], weights)
    second, *final = reference(check_layer, type, params, [x[4:], *states], weights)
    np.testing.assert_allclose(np.concatenate([first, second]), whole[0], rtol=1e-5, atol=1e-6)
    for found, wanted in zip(final, whole[1:], strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


@TYPES
def test_reverse_is_forward_turned(type: str, check_layer: Check) -> None:
    """The last row comes first, and a result's row stands where that of the input does."""
    forward, backward = (params_of(type, 4, 3, direction=d) for d in (0, 1))
    weights, x = weights_of(type, forward), sequence(6, 4)
    y, *states = reference(check_layer, type, forward, [x[::-1].copy()], weights)
    z, *others = reference(check_layer, type, backward, [x], weights)
    for a, b in zip([y[::-1], *states], [z, *others], strict=True):
        np.testing.assert_array_equal(a, b)


@TYPES
def test_both_directions_stand_side_by_side(type: str, check_layer: Check) -> None:
    """Each has a half of every weight, of the states, and of a result's row."""
    both = params_of(type, 4, 3, direction=2)
    weights, x = weights_of(type, both), sequence(6, 4)
    found = reference(check_layer, type, both, [x], weights)
    for d in (0, 1):
        halves = [np.split(weight, 2)[d] for weight in weights]
        y, *states = reference(check_layer, type, params_of(type, 4, 3, direction=d), [x], halves)
        np.testing.assert_allclose(found[0][:, 3 * d : 3 * d + 3], y, rtol=1e-6)
        for wanted, state in zip(states, found[1:], strict=True):
            np.testing.assert_allclose(state[d : d + 1], wanted, rtol=1e-6)


@TYPES
def test_a_state_of_one_direction_may_be_a_vector(type: str, check_layer: Check) -> None:
    """It comes out as it went in."""
    params = params_of(type, 4, 3)
    weights, x = weights_of(type, params), sequence(6, 4)
    states = [random_state(3) for _ in range(2 if type == "LSTM" else 1)]
    flat = reference(check_layer, type, params, [x, *states], weights)
    rows = reference(check_layer, type, params, [x, *(state[None] for state in states)], weights)
    np.testing.assert_array_equal(flat[0], rows[0])
    for a, b in zip(flat[1:], rows[1:], strict=True):
        assert a.shape == (3,)
        np.testing.assert_array_equal(a, b[0])


def random_state(extent: int) -> Array:
    return np.random.default_rng(5).uniform(-1, 1, extent).astype(np.float32)


# --- int8 -----------------------------------------------------------------------------------------


def test_int8_by_hand(check_layer: Check) -> None:
    """Input [2, 1] is [127, 64] times 2 / 127; weights [100, -50] count 1 / 200 each."""
    params = {"num_output": 1, "weight_data_size": 2, "int8_scale_term": 2}
    weights = [
        np.array([100, -50], np.int8), np.array([0.25], np.float32), np.array([80], np.int8),
        np.array([200], np.float32), np.array([40], np.float32),
    ]  # fmt: skip
    x = np.array([[2, 1], [0, 0]], np.float32)
    first = np.tanh((127 * 100 - 64 * 50) * 2 / 127 / 200 + 0.25)
    second = np.tanh(first * 80 / 40 + 0.25)
    check_layer("RNN", params, [x], weights, expected=[np.array([[first], [second]])])


# --- refusals -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("type", "params", "shapes", "message"),
    [
        ("RNN", {"num_output": 0}, [(2, 3)], "num_output is 0"),
        ("RNN", {"weight_data_size": 0}, [(2, 3)], "weight_data_size is 0"),
        ("GRU", {"direction": 3}, [(2, 3)], "direction is 3, none of 0, 1, 2"),
        ("GRU", {"weight_data_size": 19}, [(2, 3)], "not a multiple of 6, the rows of all gates"),
        ("LSTM", {"hidden_size": 0}, [(2, 3)], "hidden_size is 0"),
        ("LSTM", {}, [(2, 3), (1, 2)], "2 inputs, but states come all"),
        ("LSTM", {}, [(2, 3), (1, 2), (1, 3)], r"a state has shape \(1, 3\), not \(1, 2\)"),
        ("RNN", {}, [(2, 4)], r"input \(2, 4\) is not a matrix with rows of 3"),
        ("RNN", {}, [(3,)], r"input \(3,\) is not a matrix"),
        ("RNN", {}, [(2, 3), (3,)], r"a state has shape \(3,\), not \(1, 2\)"),
    ],
)
def test_refused(
    type: str, params: dict[str, int], shapes: list[Any], message: str, check_layer: Check
) -> None:
    """Params out of their domain, inputs and states that do not fit them."""
    given = {**params_of(type, 3, 2), **params}
    inputs = [np.zeros(shape, np.float32) for shape in shapes]
    weights = weights_of(type, params_of(type, 3, 2))
    with pytest.raises(LayerError, match=message):
        check_layer(type, given, inputs, weights)


@pytest.mark.parametrize("term", [0, 2])
def test_int8_weights_have_scales(term: int, check_layer: Check) -> None:
    """And others have none."""
    given, other = (params_of("GRU", 3, 2, int8_scale_term=t) for t in (term, 2 - term))
    weights = weights_of("GRU", other)[:3] + [np.ones(6, np.float32)] * term
    with pytest.raises(LayerError, match="go together"):
        check_layer("GRU", given, [sequence(2, 3)], weights)


def test_extents_of_an_lstm() -> None:
    """What a projection changes: rows of the result and of the recurrent weight."""
    params = params_of("LSTM", 4, 3, hidden_size=5, direction=2)
    op = LAYERS["LSTM"].make([], params)
    assert isinstance(op, Recurrent)
    assert (op.size, op.gates, op.gate_rows) == (4, 20, 40)
    assert op.state_shapes == [(2, 3), (2, 5)]
