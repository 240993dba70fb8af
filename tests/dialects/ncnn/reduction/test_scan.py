"""Running sums: the references against ncnn, the compiled statements against ncnn."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

from ncc.dialects.code import CodeOp
from ncc.dialects.ncnn.layer import LayerError
from ncc.dialects.ncnn.reduction.scan import PIECE, ROWS

Array = np.ndarray[Any, Any]
Check = Callable[..., Any]
Scan = Callable[[Mapping[str, Any], Array], Array]


@pytest.fixture(scope="session")
def scan(expand: Callable[..., Any], run_code: Callable[..., list[Array]]) -> Scan:
    """scan(params, x): what the compiled expansion computes."""

    def run(params: Mapping[str, Any], x: Array) -> Array:
        ops = expand("CumulativeSum", params, [x.shape])
        code = next(op for op in ops if isinstance(op, CodeOp))
        shape = code.operands[0].type.get_shape()  # type: ignore[attr-defined]
        return run_code(code, [x.reshape(shape)])[0].reshape(x.shape)

    return run


@pytest.mark.layer("CumulativeSum")
def test_recorded(case: Any, check_layer: Check, scan: Scan) -> None:
    """Reference and compiled expansion sum as ncnn does."""
    check_layer(case)
    np.testing.assert_allclose(scan(case.params, case.inputs[0]), case.outputs[0], rtol=case.eps)


@pytest.mark.parametrize("axis", range(-3, 3))
def test_every_axis(axis: int, check_layer: Check, scan: Scan) -> None:
    """Sums of 0, 1, 2, ... along each axis."""
    x = np.arange(2 * 5 * 7, dtype=np.float32).reshape(2, 5, 7)
    expected = np.add.accumulate(x, axis)
    check_layer("CumulativeSum", {"axis": axis}, [x], expected=[expected])
    np.testing.assert_array_equal(scan({"axis": axis}, x), expected)


@pytest.mark.parametrize("rows", [1, ROWS - 1, ROWS, 2 * ROWS + 3])
def test_rows_side_by_side(rows: int, scan: Scan) -> None:
    """Rows that are left over are summed once, not twice."""
    x = np.arange(rows * 5, dtype=np.float32).reshape(rows, 5)
    np.testing.assert_array_equal(scan({"axis": 1}, x), np.add.accumulate(x, 1))


@pytest.mark.parametrize("columns", [PIECE - 1, PIECE, PIECE + 1, 2 * PIECE + 5])
def test_rows_in_pieces(columns: int, scan: Scan) -> None:
    """Threads share the columns of a matrix: no column is left out."""
    x = np.ones((3, columns), np.float32)
    np.testing.assert_array_equal(scan({"axis": 0}, x), x * [[1], [2], [3]])


def test_a_vector_has_one_axis(check_layer: Check, scan: Scan) -> None:
    """Whatever the param says."""
    x = np.array([1, -2, 4], np.float32)
    check_layer("CumulativeSum", {"axis": 5}, [x], expected=[np.array([1, -1, 3])])
    assert scan({"axis": 5}, x).tolist() == [1, -1, 3]


def test_refuses_an_axis_that_is_not_there(check_layer: Check) -> None:
    """ncnn leaves the blob as it is and returns an error."""
    with pytest.raises(LayerError, match="axis 2 is out of range"):
        check_layer("CumulativeSum", {"axis": 2}, [np.zeros((2, 3), np.float32)])
