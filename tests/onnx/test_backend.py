"""The backend tests of the `onnx` package: a sample, and behind `sweep` all of them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.onnx.backend import case_named, cases, operator_of, outcome, run

SAMPLE = {
    "test_add_bcast": "add",
    "test_concat_3d_axis_negative_2": "concat",
    "test_conv_with_autopad_same": "conv",
    "test_gemm_all_attributes": "gemm",
    "test_matmul_bcast": "matmul",
    "test_maxpool_2d_ceil": "maxpool",
    "test_reshape_zero_and_negative_dim": "reshape",
    "test_softmax_axis_1": "softmax",
    "test_squeeze_negative_axes": "squeeze",
    "test_transpose_all_permutations_4": "transpose",
}
"""Cases, and the files of the package that make them."""


@pytest.mark.parametrize("name", SAMPLE)
def test_sample(name: str) -> None:
    """Some cases are right at -O0 and at -O2."""
    found = outcome(case_named(name, SAMPLE[name]))
    assert found.kind == "right", found


@pytest.mark.sweep
@pytest.mark.parametrize("kind", ["node", "simple", "pytorch-converted", "pytorch-operator"])
def test_every_case(kind: str) -> None:
    """Every case is right, or refused by name."""
    known = cases(kind)
    wrong = [str(one) for one in run(list(known.values()), known, 2) if one.kind == "WRONG"]
    assert not wrong, "\n".join(wrong)


def test_a_wrong_result_is_told() -> None:
    """A case whose expected values are others is WRONG."""
    case = case_named("test_add", "add")
    ((inputs, (expected,)),) = case.data_sets
    other = replace(case, data_sets=[(inputs, [expected + 1])])
    assert outcome(other).kind == "WRONG"
    assert operator_of("test_add", {"test_add": case}) == "Add"
