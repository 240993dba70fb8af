"""The attentions of onnxruntime, as exporters and its optimizer write them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from xdsl.ir import SSAValue

from ncc.dialects.ncnn.layer import LayerError
from ncc.dialects.onnx.attention import (
    Attended,
    Masks,
    behind,
    columns_of,
    extents_of,
    joined,
    parted,
    positions,
    seen_before,
    slice_of,
)
from ncc.dialects.onnx.attribute import integer, integers, real
from ncc.dialects.onnx.binary import AddOp, GreaterOp, LessOp, MinOp, SubOp, WhereOp
from ncc.dialects.onnx.casts import CastOp
from ncc.dialects.onnx.composed import MICROSOFT, Composed, Writer
from ncc.dialects.onnx.gather import GatherElementsOp, GatherOp
from ncc.dialects.onnx.linear import MatMulOp
from ncc.dialects.onnx.movement import ConcatOp, ReshapeOp, SqueezeOp, UnsqueezeOp
from ncc.dialects.onnx.operator import NotYet, operator
from ncc.dialects.onnx.rotary import rotated
from ncc.dialects.onnx.slices import ExpandOp
from ncc.dialects.shapes import Shape
from ncc.dialects.size import is_equal, largest

INT64 = 7
"""ONNX's number of int64."""

LAST, TOTAL = 5, 6
"""Operands of GroupQueryAttention: the last row of each sample, and the rows of the caches then."""


class _Attention(Composed):
    num_heads = integer(0)
    scale = real()

    def check(self) -> None:
        if self.num_heads < 1:
            raise LayerError("the attribute 'num_heads' is missing", "num_heads")

    def refuse(self, **operands: SSAValue | None) -> None:
        """Raise `NotYet` where one of these operands is there."""
        for name, value in operands.items():
            if value is not None:
                raise NotYet(f"{self.type_name} with the input {name!r}")

    def scaled(self) -> float | None:
        """The factor of scores; onnxruntime takes 0 as absent."""
        return self.scale or None


class _Masked(_Attention):
    """With a mask of keys, numbers that are added to scores, or queries that see no later key."""

    mask_filter_value = real(-10000.0)
    unidirectional = integer(0)

    def masks(
        self,
        w: Writer,
        like: SSAValue,
        rows: int,
        keys: int,
        mask: SSAValue | None,
        added: SSAValue | None,
    ) -> Masks:
        """The queries are the last rows of the keys."""
        masks = Masks(bias=added)
        if mask is not None:
            self._add_padding(w, masks, mask, like, keys)
        if self.unidirectional:
            at = w(AddOp, positions(w, rows, column=True), w.number(keys - rows))
            masks.allowed += seen_before(w, at, keys)
        return masks

    def _add_padding(
        self, w: Writer, masks: Masks, mask: SSAValue, like: SSAValue, keys: int
    ) -> None:
        """A mask of keys: 1 where a key is seen, or a count of keys of each sample."""
        shape = extents_of(mask)
        batch = extents_of(like)[0]
        if len(shape) == 1 and is_equal(shape[0], batch):
            count = w(UnsqueezeOp, w(CastOp, mask, to=INT64), w.numbers([1, 2, 3]))
            seen = w(LessOp, positions(w, keys), count)
        elif len(shape) in (2, 3) and is_equal(shape[-1], keys):
            around = w.numbers([1, 2] if len(shape) == 2 else [1])
            whole = w(UnsqueezeOp, w(CastOp, mask, to=INT64), around)
            seen = w(GreaterOp, whole, w.number(0))
        else:
            raise NotYet(f"{self.type_name} with a mask {shape}")
        bias = w(WhereOp, seen, w.like(0.0, like), w.like(self.mask_filter_value, like))
        masks.bias = bias if masks.bias is None else w(AddOp, masks.bias, bias)


def attended(
    w: Writer,
    like: SSAValue,
    heads: Sequence[tuple[SSAValue, Shape]],
    masks: Masks,
    scale: float | None,
    softcap: float = 0.0,
) -> SSAValue:
    """The result of queries, keys and values, (batch, rows, heads * size)."""
    (q, query), (k, key), (v, value) = heads
    by = Attended(w, like, query, key, value)
    scores, bias = by.limited(by.scores(q, k, scale), softcap), masks.added(w, like)
    biased = scores if bias is None else w(AddOp, scores, bias)
    return joined(w, by.values(by.parts(biased, bias, True, None), v), by.shape)


@operator("MultiHeadAttention", domain=MICROSOFT, inputs=(1, 10), outputs=(1, 3))
class MultiHeadAttentionOp(_Masked):
    """Of projected queries, keys and values."""

    def compose(
        self,
        w: Writer,
        q: SSAValue,
        k: SSAValue | None = None,
        v: SSAValue | None = None,
        bias: SSAValue | None = None,
        mask: SSAValue | None = None,
        added: SSAValue | None = None,
        past_key: SSAValue | None = None,
        past_value: SSAValue | None = None,
        past_sequence_length: SSAValue | None = None,
        cache_indirection: SSAValue | None = None,
    ) -> Sequence[SSAValue]:
        self.refuse(past_sequence_length=past_sequence_length, cache_indirection=cache_indirection)
        if k is None or v is None or 5 in (len(extents_of(q)), len(extents_of(k))):
            raise NotYet("MultiHeadAttention of packed queries, keys and values")
        given = [q, k, v]
        shapes = [extents_of(one, 3, 4) for one in given]
        if bias is not None:
            if any(len(shape) != 3 for shape in shapes):
                raise NotYet("MultiHeadAttention with keys by heads and a bias")
            ends = [sum(shape[-1] for shape in shapes[:n]) for n in range(4)]
            parts = [columns_of(w, bias, start, end) for start, end in pairwise(ends)]
            given = [w(AddOp, one, part) for one, part in zip(given, parts, strict=True)]
        query, key, value = (
            parted(w, one, shape, self.num_heads) for one, shape in zip(given, shapes, strict=True)
        )
        key, value = (
            one if past is None else behind(w, past, extents_of(past, 4)[2], one)
            for past, one in ((past_key, key), (past_value, value))
        )
        masks = self.masks(w, q, query[1][2], key[1][2], mask, added)
        made = attended(w, q, (query, key, value), masks, self.scaled())
        return [made, key[0], value[0]][: len(self.results)]


@operator("Attention", domain=MICROSOFT, inputs=(2, 7), outputs=(1, 2))
class MicrosoftAttentionOp(_Masked):
    """With the projection of x to queries, keys and values."""

    do_rotary = integer(0)
    past_present_share_buffer = integer(0)
    qkv_hidden_sizes = integers()
    rotary_embedding_dim = integer(0)

    def check(self) -> None:
        super().check()
        if self.do_rotary or self.past_present_share_buffer:
            raise NotYet("Attention of com.microsoft with rotary embeddings or shared buffers")

    def compose(
        self,
        w: Writer,
        x: SSAValue,
        weights: SSAValue,
        bias: SSAValue | None = None,
        mask: SSAValue | None = None,
        past: SSAValue | None = None,
        added: SSAValue | None = None,
        past_sequence_length: SSAValue | None = None,
    ) -> Sequence[SSAValue]:
        self.refuse(past_sequence_length=past_sequence_length)
        batch, rows, _ = extents_of(x, 3)
        third = extents_of(weights, 2)[1] // 3
        sizes = self.qkv_hidden_sizes or (third,) * 3
        made = w(MatMulOp, x, weights)
        if bias is not None:
            made = w(AddOp, made, bias)
        ends = [sum(sizes[:n]) for n in range(4)]
        query, key, value = (
            parted(w, columns_of(w, made, start, end), (batch, rows, end - start), self.num_heads)
            for start, end in pairwise(ends)
        )
        if past is not None:
            before = extents_of(past, 5)[3]
            key, value = (
                behind(w, self._cache(w, past, n), before, one)
                for n, one in enumerate((key, value))
            )
        masks = self.masks(w, x, rows, key[1][2], mask, added)
        result = attended(w, x, (query, key, value), masks, self.scaled())
        if len(self.results) == 1:
            return [result]
        both = [w(UnsqueezeOp, one, w.numbers([0])) for one, _ in (key, value)]
        return [result, w(ConcatOp, *both, axis=0)]

    def _cache(self, w: Writer, past: SSAValue, place: int) -> SSAValue:
        """The keys or the values of a cache of both."""
        return w(SqueezeOp, slice_of(w, past, 0, place, place + 1), w.numbers([0]))


@operator("GroupQueryAttention", domain=MICROSOFT, inputs=(1, 14), outputs=(1, 3))
class GroupQueryAttentionOp(_Attention):
    """Causal attention behind caches, which hold as many rows of a sample as its count says.

    The rows of a sample go behind those that its cache holds; what is behind them is padding.
    """

    SETTLES = (TOTAL,)

    do_rotary = integer(0)
    kv_num_heads = integer(0)
    local_window_size = integer(-1)
    rotary_interleaved = integer(0)
    smooth_softmax = integer(0)
    softcap = real(0.0)

    def check(self) -> None:
        super().check()
        if any(self.operand_at(place) is None for place in (LAST, TOTAL)):
            raise LayerError("it has no seqlens_k or no total_sequence_length")
        if self.smooth_softmax > 0:
            raise NotYet("GroupQueryAttention with a smooth softmax")

    def compose(
        self,
        w: Writer,
        q: SSAValue,
        k: SSAValue | None,
        v: SSAValue | None,
        past_key: SSAValue | None,
        past_value: SSAValue | None,
        last: SSAValue,
        total: SSAValue,
        cosines: SSAValue | None = None,
        sines: SSAValue | None = None,
        position_ids: SSAValue | None = None,
        added: SSAValue | None = None,
        *others: SSAValue | None,
    ) -> Sequence[SSAValue]:
        names = ("head_sink", "k_scale", "v_scale")
        self.refuse(**dict(zip(names, others, strict=False)))
        if k is None or v is None:
            raise NotYet("GroupQueryAttention of packed queries, keys and values")
        query = parted(w, q, extents_of(q, 3), self.num_heads)
        key, value = (parted(w, one, extents_of(one, 3), self.kv_num_heads) for one in (k, v))
        rows = query[1][2]
        # The first new row of each sample: (batch, 1, 1, 1).
        count = w(AddOp, w(CastOp, last, to=INT64), w.number(1 - rows))
        first = w(UnsqueezeOp, w(ReshapeOp, count, w.numbers([-1])), w.numbers([1, 2, 3]))
        at = w(AddOp, positions(w, rows, column=True), first)
        if self.do_rotary:
            if cosines is None or sines is None:
                raise LayerError("it has no tables of cosines and sines")
            seen = position_ids or w(SqueezeOp, at, w.numbers([1, 3]))
            tables = [w(GatherOp, table, seen) for table in (cosines, sines)]
            size = 2 * extents_of(cosines, 2)[-1]
            query, key = (
                (rotated(w, one, shape, tables, size, self.rotary_interleaved), shape)
                for one, shape in (query, key)
            )
        key = self._cached(w, past_key, key, first)
        value = self._cached(w, past_value, value, first)
        masks = Masks(bias=added)
        masks.allowed += seen_before(w, at, key[1][2], self.local_window_size - 1)
        made = attended(w, q, (query, key, value), masks, self.scaled(), self.softcap)
        return [made, key[0], value[0]][: len(self.results)]

    def _cached(
        self, w: Writer, past: SSAValue | None, new: tuple[SSAValue, Shape], first: SSAValue
    ) -> tuple[SSAValue, Shape]:
        """The rows of a cache that are no padding, and the new rows behind them."""
        if past is None:
            return new
        before = extents_of(past, 4)[2]
        both, shape = behind(w, past, before, new)
        count = largest(self.numbers(TOTAL)[0], before)
        rows = positions(w, count, column=True)
        added = w(AddOp, w(SubOp, rows, first), w.number(before))
        at = w(WhereOp, w(LessOp, rows, first), rows, w(MinOp, added, w.number(shape[2] - 1)))
        shape = (*shape[:2], count, shape[3])
        return w(GatherElementsOp, both, w(ExpandOp, at, w.numbers(shape)), axis=2), shape
