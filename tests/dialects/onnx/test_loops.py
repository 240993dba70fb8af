"""Loops become their iterations, where the number of these is known."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from xdsl.context import Context

from ncc.compiler.diagnostics import ModelError, Unsupported
from ncc.compiler.read_onnx.read_model import read_model
from ncc.runtime.results import Array
from tests.onnx.models import from_text, run, written

X = np.linspace(-1, 2, 12, dtype=np.float32).reshape(4, 3)


POWERS = """
(int64 n, float[4, 3] x) => (float[4, 3] y, float[k, 4, 3] each, float[4, 3] kept) {
    half = Constant <value = float {0.5}> ()
    quarter = Mul (half, half)
    y, kept, each = Loop (n, "", x, x) <body = again
        (int64 i, bool going, float[4, 3] before, float[4, 3] same)
        => (bool going_on, float[4, 3] after, float[4, 3] same_again, float[4, 3] part) {
            number = Cast <to = 1> (i)
            scaled = Mul (before, quarter)
            after = Add (scaled, number)
            same_again = Identity (same)
            part = Sub (after, x)
            going_on = Identity (going)
        }>
}"""


@pytest.mark.parametrize("level", [0, 2])
def test_a_count(level: int) -> None:
    """Carried values go from iteration to iteration; parts stand along a new axis."""
    y, each, kept = run(from_text(POWERS), {"n": np.array(3), "x": X}, level)
    states: list[Array] = [X]
    for number in range(3):
        states.append(states[-1] / 4 + np.float32(number))
    np.testing.assert_allclose(y, states[-1], 1e-6)
    np.testing.assert_allclose(each, np.stack(states[1:]) - X, 1e-6)
    np.testing.assert_array_equal(kept, X)


def test_no_iteration() -> None:
    """Carried values are what they were; parts would have no elements."""
    no_parts = (
        POWERS.replace("float[k, 4, 3] each, ", "")
        .replace(", each", "")
        .replace(", float[4, 3] part", "")
    )
    y, kept = run(from_text(no_parts), {"n": np.array(0), "x": X})
    np.testing.assert_array_equal(y, X)
    np.testing.assert_array_equal(kept, X)
    with pytest.raises(Unsupported, match="Loop without an iteration"):
        run(from_text(POWERS), {"n": np.array(0), "x": X})


WHILE = """
(float[4, 3] x) => (float[4, 3] y, int64 last) {
    zero = Constant <value = int64 {0}> ()
    three = Constant <value = int64 {3}> ()
    start = Constant <value = bool {1}> ()
    y, last = Loop ("", start, x, zero) <body = again
        (int64 i, bool going, float[4, 3] before, int64 at)
        => (bool going_on, float[4, 3] after, int64 next) {
            one = Constant <value = int64 {1}> ()
            next = Add (at, one)
            after = Add (before, before)
            going_on = Less (next, three)
        }>
}"""


def test_a_condition_that_follows_from_constants() -> None:
    """It ends a loop without a count."""
    y, last = run(from_text(WHILE), {"x": X})
    np.testing.assert_array_equal(y, X * 8)
    assert last == 3


UNTIL = """
(float[4, 3] x) => (float[4, 3] y) {
    five = Constant <value = int64 {5}> ()
    limit = Constant <value = float {4.0}> ()
    start = Constant <value = bool {1}> ()
    y = Loop (five, start, x) <body = again
        (int64 i, bool going, float[4, 3] before) => (bool going_on, float[4, 3] after) {
            after = Add (before, before)
            most = ReduceMax <keepdims = 0> (after)
            going_on = Less (most, limit)
        }>
}"""


@pytest.mark.parametrize(("scale", "times"), [(1.0, 2), (0.3, 8), (0.001, 32), (5.0, 2)])
def test_a_condition_that_only_the_run_knows(scale: float, times: int) -> None:
    """It decides which iteration's values are taken, up to the count."""
    x = X * np.float32(scale)
    (y,) = run(from_text(UNTIL), {"x": x})
    np.testing.assert_array_equal(y, x * times)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (UNTIL.replace("Loop (five,", 'Loop ("",'), "Loop without a count and with a condition"),
        (
            UNTIL.replace("=> (float[4, 3] y)", "=> (float[4, 3] y, float[n] all)")
            .replace("y = Loop", "y, all = Loop")
            .replace("float[4, 3] after) {", "float[4, 3] after, float most) {"),
            "Loop with outputs that grow and a condition that only the run knows: .* <- ",
        ),
        (
            POWERS.replace("(int64 n, ", "(").replace(
                "{\n", "{ n = Constant <value = int64 {9999}> ()\n", 1
            ),
            "Loop of 9999 iterations of 6 operators",
        ),
    ],
)
def test_what_is_not_known_is_refused(text: str, what: str) -> None:
    """By name, with what can be done."""
    with pytest.raises(Unsupported, match=what) as told:
        run(from_text(text), {"x": X})
    assert told.value.how


SCAN = """
(float[3] first, float[4, 3] x) => (float[3] last, float[3, 4] sums) {
    last, sums = Scan <num_scan_inputs = 1, scan_input_axes = [0], scan_output_axes = [-1],
            scan_input_directions = [1], scan_output_directions = [0], body = step
        (float[3] before, float[3] row) => (float[3] after, float[3] sum) {
            after = Add (before, row)
            sum = Identity (after)
        }> (first, x)
}"""


def test_scan() -> None:
    """Slices go in from the back; parts come out along the last axis."""
    last, sums = run(from_text(SCAN), {"first": X[0], "x": X})
    wanted = X[0] + np.cumsum(X[::-1], 0)
    np.testing.assert_allclose(last, wanted[-1], 1e-6, 1e-6)
    np.testing.assert_allclose(sums, wanted.T, 1e-6, 1e-6)


def test_scan_of_an_open_length() -> None:
    """The run does not decide how many copies of the body there are: each length is compiled."""
    text = SCAN.replace("float[4, 3] x", "float[t, 3] x")
    for rows in (X, X[:2]):
        last, _ = run(from_text(text), {"first": X[0], "x": rows})
        np.testing.assert_allclose(last, X[0] + rows.sum(0), 1e-6, 1e-6)


NESTED = """
(float[4, 3] x) => (float[3] y) {
    zero = Constant <value = float[3] {0, 0, 0}> ()
    two = Constant <value = int64 {2}> ()
    y = Scan <num_scan_inputs = 1, body = rows
        (float[3] sum, float[3] row) => (float[3] more) {
            doubled = Loop (two, "", row) <body = twice
                (int64 i, bool going, float[3] part) => (bool on, float[3] next) {
                    next = Add (part, row)
                    on = Identity (going)
                }>
            more = Add (sum, doubled)
        }> (zero, x)
}"""


def test_a_loop_in_a_loop() -> None:
    """The inner one sees the values of the iteration."""
    (y,) = run(from_text(NESTED), {"x": X})
    np.testing.assert_allclose(y, X.sum(0) * 3, 1e-6, 1e-6)


def test_a_module_with_a_loop_is_read_from_its_text(tmp_path: Path) -> None:
    """Bodies are regions of the IR."""
    from xdsl.dialects.builtin import Builtin
    from xdsl.dialects.func import Func
    from xdsl.parser import Parser

    from ncc.dialects.ncnn.dialect import NCNN
    from ncc.dialects.onnx.dialect import ONNX

    context = Context()
    for dialect in (Builtin, Func, NCNN, ONNX):
        context.load_dialect(dialect)
    text = str(read_model(written(tmp_path, from_text(NESTED))))
    assert text.count("onnx.Yield") == 2
    parsed = Parser(context, text).parse_module()
    parsed.verify()
    assert str(parsed) == text


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("(first, x)", "(x)", "its body takes 2 values, not 1"),
        ("scan_input_axes = [0]", "scan_input_axes = [0, 0]", "it has 2 scan_input_axes, not 1"),
        ("num_scan_inputs = 1", "num_scan_inputs = 7", "num_scan_inputs is 7"),
    ],
)
def test_what_is_wrong_is_told(before: str, after: str, message: str) -> None:
    """With the node."""
    with pytest.raises(ModelError, match=message):
        run(from_text(SCAN.replace(before, after)), {})


def test_what_is_ours_is_no_attribute_of_a_file() -> None:
    """A file cannot say that iterations are done."""
    with pytest.raises(Unsupported, match="Loop with the attribute 'iteration'"):
        run(from_text(WHILE.replace("<body = again", "<iteration = 1, body = again")), {"x": X})
