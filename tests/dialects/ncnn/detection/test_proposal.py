"""Proposals: the reference and the compiled statements against ncnn."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import TensorType, f32
from xdsl.dialects.test import TestOp as SourceOp
from xdsl.ir import Block

from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.ncnn.detection.proposal import ANCHORS, ProposalOp
from ncc.dialects.ncnn.layer import LayerError

Array = np.ndarray[Any, Any]
Check = Callable[..., Any]
Propose = Callable[..., list[Array]]


@pytest.fixture(scope="session")
def propose(run_codes: Callable[..., list[Array]]) -> Propose:
    """propose(params, inputs, outputs): regions and scores that the compiled expansion finds."""

    def run(params: Mapping[str, Any], inputs: Sequence[Array], outputs: int = 1) -> list[Array]:
        types = [TensorType(f32, x.shape) for x in inputs]
        op = ProposalOp.make(SourceOp(result_types=types).results, params, blobs=["out"] * outputs)
        op.verify()
        block = Block(arg_types=types)
        tensors = [Tensor(a, x.shape) for a, x in zip(block.args, inputs, strict=True)]
        op.expand_all(Builder(block), tensors)
        found = run_codes(block.ops, [*inputs, op.anchors])
        return [rows[: count[0]] for rows, count in zip(found[::2], found[1::2], strict=True)]

    return run


@pytest.mark.layer("Proposal")
def test_recorded(case: Any, check_layer: Check, propose: Propose) -> None:
    """Reference and compiled expansion find the regions that ncnn recorded."""
    check_layer(case)
    found = propose(case.params, case.inputs, len(case.outputs))
    for rows, expected in zip(found, case.outputs, strict=True):
        assert rows.shape == expected.shape
        np.testing.assert_allclose(rows, expected, rtol=case.eps, atol=case.eps)


def inputs_of(scores: Mapping[tuple[int, int, int], float], image: float = 200) -> list[Array]:
    """One row of two cells, nothing moved; scores by (anchor, row, column), others 0."""
    rated = np.zeros((2 * ANCHORS, 1, 2), np.float32)
    for (anchor, i, j), score in scores.items():
        rated[ANCHORS + anchor, i, j] = score
    return [rated, np.zeros((4 * ANCHORS, 1, 2), np.float32), np.array([image, image, 1], "f4")]


SMALL = {"base_size": 2, "feat_stride": 100, "min_size": 0, "nms_thresh": 0.5}


def test_anchors_have_whole_sides_around_one_centre() -> None:
    """16 by 16 cells at the ratio 1/2 are 23 wide and 12 high, before they are scaled."""
    anchors = ProposalOp.make(SourceOp(result_types=[f32] * 3).results).anchors
    assert anchors[0].tolist() == [8 - 92, 8 - 48, 8 + 92, 8 + 48]
    assert anchors[4].tolist() == [8 - 128, 8 - 128, 8 + 128, 8 + 128]
    assert (anchors[8, 2:] - anchors[8, :2]).tolist() == [11 * 32, 22 * 32]


def test_the_best_come_first_and_hide_what_they_overlap(propose: Propose) -> None:
    """Two cells far apart, whose smallest anchors are kept; larger ones around them are not."""
    inputs = inputs_of({(3, 0, 0): 0.8, (3, 0, 1): 0.9}, image=1000)
    params = {**SMALL, "pre_nms_topN": 2, "after_nms_topN": 5}
    regions, scores = propose(params, inputs, 2)
    # 16 by 16 around (1, 1) and (101, 1), cut at 0.
    assert regions.reshape(-1, 4).tolist() == [[93, 0, 109, 9], [0, 0, 9, 9]]
    assert scores.reshape(-1).tolist() == [np.float32(0.9), np.float32(0.8)]


def test_moves_are_parts_of_an_anchor_and_sizes_grow_by_exp(
    propose: Propose, check_layer: Check
) -> None:
    """A quarter to the right, twice as high."""
    inputs = inputs_of({(3, 0, 1): 1.0}, image=1000)
    inputs[1][4 * 3, 0, 1], inputs[1][4 * 3 + 3, 0, 1] = 0.25, np.log(2)
    params = {**SMALL, "pre_nms_topN": 1}
    expected = np.array([[[97, 0, 113, 17]]], np.float32)
    np.testing.assert_allclose(propose(params, inputs)[0], expected, rtol=1e-6)
    check_layer("Proposal", params, inputs, expected=[expected], expand=False)


def test_all_are_suppressed_where_none_is_the_most(propose: Propose, check_layer: Check) -> None:
    """pre_nms_topN of 0 is no limit; after_nms_topN counts what is left."""
    rng = np.random.default_rng(3)
    inputs = inputs_of({}, image=300)
    inputs[0][:] = rng.random(inputs[0].shape)
    for params in ({**SMALL, "pre_nms_topN": 0}, {**SMALL, "after_nms_topN": 2}):
        found = propose(params, inputs, 2)
        check_layer("Proposal", params, inputs, expected=found, outputs=2, expand=False)
    assert len(found[0]) == 2


def test_nothing_proposed_has_no_rows(propose: Propose, check_layer: Check) -> None:
    """Every region is smaller than min_size times the image's scale."""
    inputs = inputs_of({(3, 0, 1): 1.0})
    params = {**SMALL, "min_size": 1000}
    empty = [np.zeros((0, 1, 4), np.float32), np.zeros((0, 1, 1), np.float32)]
    check_layer("Proposal", params, inputs, expected=empty)
    assert [found.shape for found in propose(params, inputs, 2)] == [(0, 1, 4), (0, 1, 1)]


def test_a_region_that_is_no_number_is_none(propose: Propose, check_layer: Check) -> None:
    """NaN is not large enough."""
    inputs = inputs_of({(3, 0, 0): 0.8, (3, 0, 1): 0.9}, image=1000)
    inputs[1][4 * 3, 0, 1] = np.nan
    params = {**SMALL, "pre_nms_topN": 1}
    assert propose(params, inputs)[0].tolist() == [[[0, 0, 9, 9]]]
    check_layer("Proposal", params, inputs, expected=propose(params, inputs), expand=False)


@pytest.mark.parametrize(
    ("params", "shapes", "message"),
    [
        ({"after_nms_topN": 0}, [(18, 2, 2), (36, 2, 2), (3,)], "after_nms_topN is 0"),
        ({}, [(17, 2, 2), (36, 2, 2), (3,)], "not \\(18, h, w\\)"),
        ({}, [(18, 2, 2), (36, 2, 3), (3,)], "not \\(36, 2, 2\\)"),
        ({}, [(18, 2, 2), (36, 2, 2), (2,)], "height, width and scale"),
    ],
)
def test_refuses(params: dict[str, Any], shapes: Any, message: str, check_layer: Check) -> None:
    """Nothing to keep; inputs that do not fit each other."""
    with pytest.raises(LayerError, match=message):
        check_layer("Proposal", params, [np.zeros(shape, np.float32) for shape in shapes])
