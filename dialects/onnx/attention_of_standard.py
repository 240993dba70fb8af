"""The Attention of ONNX. Op set 23 has it as a function, which the package onnx inlines."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import i1
from xdsl.ir import SSAValue

from ncc.dialects.element import element_of
from ncc.dialects.onnx.attention import (
    Attended,
    Masks,
    behind,
    extents_of,
    joined,
    parted,
    positions,
    seen_before,
)
from ncc.dialects.onnx.attribute import integer, real
from ncc.dialects.onnx.binary import AddOp, LessOp
from ncc.dialects.onnx.composed import Composed, Writer
from ncc.dialects.onnx.movement import UnsqueezeOp
from ncc.dialects.onnx.operator import LayerError, operator
from ncc.dialects.onnx.padding import PadOp
from ncc.dialects.size import is_equal, is_open

ALONE, LIMITED, BIASED, PARTS = range(4)
"""What the fourth result is: scores, these below softcap, these with bias, parts of a whole."""


@operator("Attention", since=24, inputs=(3, 7), outputs=(1, 4))
class AttentionOp(Composed):
    """softmax(q k^T) v by heads, with a mask, a cache, or a count of keys for each sample."""

    is_causal = integer(0)
    kv_num_heads = integer(0)
    left_window_size = integer(-1)
    q_num_heads = integer(0)
    qk_matmul_output_mode = integer(0)
    right_window_size = integer(-1)
    scale = real()
    softcap = real(0.0)
    softmax_precision = integer()

    def check(self) -> None:
        if self.qk_matmul_output_mode not in range(4):
            raise LayerError(f"the mode {self.qk_matmul_output_mode}", "qk_matmul_output_mode")
        if (self.operand_at(4) is None) != (self.operand_at(5) is None):
            raise LayerError("it has one of past_key and past_value")
        if self.operand_at(4) is not None and self.operand_at(6) is not None:
            raise LayerError("it has past keys and nonpad_kv_seqlen")

    def compose(
        self,
        w: Writer,
        q: SSAValue,
        k: SSAValue,
        v: SSAValue,
        mask: SSAValue | None = None,
        past_key: SSAValue | None = None,
        past_value: SSAValue | None = None,
        counts: SSAValue | None = None,
    ) -> Sequence[SSAValue]:
        queries, query = parted(w, q, extents_of(q, 3, 4), self.q_num_heads)
        keys, key = parted(w, k, extents_of(k, 3, 4), self.kv_num_heads)
        values, value = parted(w, v, extents_of(v, 3, 4), self.kv_num_heads)
        before = 0
        if past_key is not None and past_value is not None:
            before = extents_of(past_key, 4)[2]
            keys, key = behind(w, past_key, before, (keys, key))
            values, value = behind(w, past_value, before, (values, value))
        heads = Attended(w, q, query, key, value)
        masks = self._masks(w, q, query[2], key[2], before, mask, counts)
        bias = masks.added(w, q)
        shown = [heads.scores(queries, keys, self.scale)]
        shown.append(heads.limited(shown[ALONE], self.softcap))
        shown.append(shown[LIMITED] if bias is None else w(AddOp, shown[LIMITED], bias))
        precision = self.softmax_precision
        shown.append(heads.parts(shown[BIASED], bias, masks.each_sees_one, precision))
        made = heads.values(shown[PARTS], values)
        if len(extents_of(q)) == 3:
            made = joined(w, made, heads.shape)
        results = [made, keys, values, shown[self.qk_matmul_output_mode]]
        return results[: len(self.results)]

    def _masks(
        self,
        w: Writer,
        like: SSAValue,
        rows: int,
        keys: int,
        before: int,
        mask: SSAValue | None,
        counts: SSAValue | None,
    ) -> Masks:
        """counts: the keys of each sample; the others are padding behind them."""
        masks = Masks()
        if mask is not None:
            masks.add(w, self._as_long(w, mask, keys), mask)
        at = w(AddOp, positions(w, rows, column=True), w.number(before))
        if counts is not None:
            masks.each_sees_one = False
            count = w(UnsqueezeOp, counts, w.numbers([1, 2, 3]))
            masks.allowed.append(w(LessOp, positions(w, keys), count))
            at = w(AddOp, w(AddOp, at, w.number(-rows)), count)
        if self.is_causal:
            masks.allowed += seen_before(w, at, keys)
        if max(self.left_window_size, self.right_window_size) >= 0:
            masks.each_sees_one = False
            sides = self.left_window_size, self.right_window_size
            masks.allowed += seen_before(w, at, keys, *sides)
        return masks

    def _as_long(self, w: Writer, mask: SSAValue, keys: int) -> SSAValue:
        """A mask that says something of each key: those behind its end are not seen."""
        shape = extents_of(mask)
        if not shape or is_equal(shape[-1], keys) or (shape[-1] == 1 and not is_open(keys)):
            return mask
        pads = [0] * (2 * len(shape) - 1) + [keys - shape[-1]]
        none = w.constant(np.array(False)) if element_of(mask) == i1 else w.like(-np.inf, mask)
        return w(PadOp, mask, w.numbers(pads), none)
