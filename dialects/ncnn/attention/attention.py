"""SDPA and RotaryEmbed, and the common part of attention layers: mask, caches of keys, values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from math import prod, sqrt
from typing import ClassVar, Generic, NamedTuple, TypeVar

import numpy as np

from ncc.dialects.ncnn.attention.int8_attention import attended_int8, attended_int8_array
from ncc.dialects.ncnn.attention.scaled_dot_product import Heads, attended, attended_array
from ncc.dialects.ncnn.layer import (
    Array,
    Builder,
    Layer,
    LayerError,
    Shape,
    Tensor,
    integer,
    layer,
    real,
)
from ncc.dialects.size import NeedsNumbers, are_equal, is_equal, is_open

T = TypeVar("T")


@dataclass(frozen=True)
class AttentionOperands(Generic[T]):
    """The operands of attention. Caches are the keys and values of earlier runs, (heads, rows,
    dim).
    """

    query: T
    key: T
    value: T
    mask: T | None = None
    past_key: T | None = None
    past_value: T | None = None

    @staticmethod
    def of(inputs: Sequence[T], *, mask: bool, cache: bool) -> AttentionOperands[T]:
        """The inputs by their meaning. There are one, two or three of q, k and v: without v, k is
        v, and without k, q is k. Then come a mask and two caches.
        """
        count = len(inputs) - mask - 2 * cache
        given = list(inputs[count:])
        of_mask = given.pop(0) if mask else None
        past_key, past_value = given if cache else (None, None)
        key, value = inputs[min(1, count - 1)], inputs[count - 1]
        return AttentionOperands(inputs[0], key, value, of_mask, past_key, past_value)


def check_mask(mask: Shape | None, heads: int, pairs: Shape) -> None:
    """Raise LayerError for a mask that is neither one for all heads nor one for each head."""
    taken = (pairs, (1, *pairs), (heads, *pairs))
    if mask is not None and not any(are_equal(mask, one) for one in taken):
        raise LayerError(f"the mask is {mask}, but must be {pairs} or one of them a head")


def named_mask(b: Builder, mask: Tensor | None, pairs: Shape) -> Tensor | None:
    """A mask of these rows and keys, whose extents may have other names."""
    return None if mask is None else b.named(mask, (*mask.shape[:-2], *pairs))


def named_values(b: Builder, values: Tensor | None, keys: Tensor | None) -> Tensor | None:
    """A cache of values, whose rows may have another name than those of the cache of keys."""
    if values is None or keys is None or 0 in values.shape:
        return values
    return b.named(values, (values.shape[0], keys.shape[1], values.shape[2]))


def cached_rows(what: str, cache: Shape | None, heads: int, features: int) -> int:
    """The rows of a cache: 0 if there is no cache, or an empty one.

    Raises LayerError for a cache with other heads or features.
    """
    if cache is None or 0 in cache:
        return 0
    if len(cache) != 3 or not are_equal((cache[0], cache[2]), (heads, features)):
        raise LayerError(f"the {what} is {cache}, but must be ({heads}, rows, {features})")
    return cache[1]


def appended_array(cache: Array | None, rows: Array) -> Array:
    """The rows of a cache, then new ones; both (heads, rows, features)."""
    if cache is None or cache.size == 0:
        return rows
    return np.concatenate([cache, rows], 1)


def appended(b: Builder, cache: Tensor | None, rows: Tensor) -> Tensor:
    """The rows of a cache, then new ones; both (heads, rows, features)."""
    if cache is None or 0 in cache.shape:
        return rows
    return b.concat([cache, rows], 1)


class Growth(NamedTuple):
    """The rows of a run: it adds `keys` rows to each cache, and the query has `rows` rows.

    of_keys, of_values: (heads, features) of the caches.
    """

    rows: int
    keys: int
    of_keys: tuple[int, int]
    of_values: tuple[int, int]


class Attention(Layer):
    """The common part of attention layers, whose last operands are a mask, and keys and values of
    earlier runs.

    Caches are (heads, rows, features), and results as well. If nobody gives their shapes, they have
    any number of rows, and so has the mask over them.
    """

    attn_mask = integer(5)
    kv_cache = integer(7)

    def check(self) -> None:
        wanted = 3 if self.kv_cache else 1
        if len(self.results) != wanted:
            raise LayerError(
                f"{len(self.results)} outputs: with kv_cache {self.kv_cache} there are {wanted}"
            )

    def given(self, inputs: Sequence[T]) -> AttentionOperands[T]:
        """The inputs by their meaning."""
        return AttentionOperands.of(inputs, mask=bool(self.attn_mask), cache=bool(self.kv_cache))

    def growth(self, x: AttentionOperands[Shape | None]) -> Growth | None:
        """The rows that a run adds to the caches; None if query, key and value leave them open."""
        raise NotImplementedError

    @property
    def appends(self) -> bool:
        """Whether the rows of this run follow those of the caches, whatever these hold."""
        raise NotImplementedError

    def caches(self) -> tuple[int, ...]:
        count = len(self.operands)
        return (count - 2, count - 1) if self.kv_cache else ()

    def implied(self) -> tuple[int, ...]:
        if not self.kv_cache or not self.appends:
            return ()
        return tuple(range(len(self.operands) - 2 - bool(self.attn_mask), len(self.operands)))

    def complete(self, shapes: Sequence[Shape | None], rows: int) -> list[Shape | None]:
        x = self.given(shapes)
        growth = self.growth(x)
        if growth is None:
            given = ", ".join(map(str, (x.query, x.key, x.value)))
            raise LayerError(f"{given} of query, key and value do not tell the shapes of caches")
        past = rows
        if x.mask is not None:
            past = x.mask[-1] - growth.keys
        for cache in (x.past_key, x.past_value):
            if cache is not None:
                past = 0 if 0 in cache or len(cache) != 3 else cache[1]
        completed = list(shapes)
        caches = [(heads, past, features) for heads, features in (growth.of_keys, growth.of_values)]
        wanted = [(growth.rows, past + growth.keys)] * bool(self.attn_mask) + caches
        for position, shape in zip(self.implied(), wanted, strict=True):
            completed[position] = completed[position] or shape
        return completed


@layer("SDPA", inputs=(3, 6), outputs=(1, 3))
class SDPAOp(Attention):
    """softmax(scale * q k^T + mask) v of each head: (heads, rows, features).

    The query may have a multiple of the heads of key and value; consecutive heads of the query
    share one. The mask is (rows of q, rows of k), or one of these for each head. If a row of it
    hides all keys with -inf, the result is a row of zeros. With kv_cache the keys and values of
    earlier runs come before those of this one, and all of them are results as well. (ncnn itself
    returns keys in blocks, for its own kernels.)
    """

    OWN_LAYOUT: ClassVar[tuple[int, ...]] = (1,)

    scale = real(6)
    int8_scale_term = integer(18)

    def check(self) -> None:
        wanted = 3 + bool(self.attn_mask) + 2 * bool(self.kv_cache)
        if len(self.operands) != wanted:
            raise LayerError(
                f"{len(self.operands)} inputs: with attn_mask {self.attn_mask} and kv_cache "
                f"{self.kv_cache} there are {wanted}"
            )
        super().check()

    @property
    def appends(self) -> bool:
        return True

    def growth(self, x: AttentionOperands[Shape | None]) -> Growth | None:
        if x.query is None or x.key is None or x.value is None:
            return None
        if not len(x.query) == len(x.key) == len(x.value) == 3:
            return None
        groups, keys, features = x.key
        return Growth(x.query[1], keys, (groups, features), (groups, x.value[2]))

    def factor(self, features: int) -> float:
        """The factor of the products of query and key."""
        if self.scale != 0.0:
            return self.scale
        if is_open(features):
            raise NeedsNumbers("attention without a scale needs its number of features")
        return 1 / sqrt(features)

    def infer(self, *shapes: Shape) -> list[Shape]:
        x = self.given(shapes)
        for what, shape in (("query", x.query), ("key", x.key), ("value", x.value)):
            if len(shape) != 3:
                raise LayerError(f"the {what} is {shape}, but must be (heads, rows, features)")
        heads, rows, features = x.query
        groups, keys, _ = x.key
        if not is_equal(x.key[2], features):
            raise LayerError(f"query {x.query} and key {x.key} differ in their features")
        if not are_equal(x.value[:2], (groups, keys)):
            raise LayerError(f"key {x.key} and value {x.value} differ in their heads or rows")
        if not is_equal(heads % groups, 0):
            raise LayerError(f"{groups} heads of key and value cannot be shared by {heads}")
        past = cached_rows("cache of keys", x.past_key, groups, features)
        if not is_equal(cached_rows("cache of values", x.past_value, groups, x.value[2]), past):
            raise LayerError(f"the caches {x.past_key} and {x.past_value} differ in their rows")
        total = past + keys
        check_mask(x.mask, heads, (rows, total))
        caches = [(groups, total, features), (groups, total, x.value[2])]
        return [(heads, rows, x.value[2]), *caches[: len(self.results) - 1]]

    def reference(self, *inputs: Array) -> list[Array]:
        x = self.given(inputs)
        keys = appended_array(x.past_key, x.key)
        values = appended_array(x.past_value, x.value)
        of_floats = partial(attended_array, zeros=True)
        attend = attended_int8_array if self.int8_scale_term else of_floats
        y = attend(x.query, keys, values, x.mask, self.factor(x.query.shape[2]))
        return [y, keys, values][: len(self.results)]

    def lower(self, b: Builder, *inputs: Tensor) -> list[Tensor]:
        x = self.given(inputs)
        scale = self.factor(x.query.shape[2])
        value = b.named(x.value, (*x.key.shape[:2], x.value.shape[2]))
        past_value = named_values(b, x.past_value, x.past_key)
        keys, values = appended(b, x.past_key, x.key), appended(b, past_value, value)
        mask = named_mask(b, x.mask, (x.query.shape[1], keys.shape[1]))
        if self.int8_scale_term:
            y = attended_int8(b, x.query, keys, values, mask, scale)
        else:
            q, k, v = map(Heads, (x.query, keys, values))
            y = attended(b, q, k, v, mask, scale, zeros=True)
        return [y, keys, values][: len(self.results)]


@layer("RotaryEmbed", inputs=3)
class RotaryEmbedOp(Layer):
    """Each pair of features rotated by an angle: (x cos - y sin, x sin + y cos).

    x is (heads, rows, features), or (rows, features) of one head; cos and sin are (rows,
    features / 2). Interleaved pairs are neighbours; other pairs are a feature of the first half and
    one of the second half.
    """

    interleaved = integer(0)

    def infer(self, x: Shape, cos: Shape, sin: Shape) -> Shape:
        if len(x) not in (2, 3) or not is_equal(x[-1] % 2, 0):
            raise LayerError(f"input {x} is not (heads, rows, features) with pairs of features")
        wanted = (x[-2], x[-1] // 2)
        for what, shape in (("cosines", cos), ("sines", sin)):
            if not are_equal(shape, wanted):
                raise LayerError(f"the {what} are {shape}, but must be {wanted}")
        return x

    def halves(self, shape: Shape) -> tuple[Shape, int]:
        """The shape with pairs of features as two axes, and the axis of length 2."""
        *outer, rows, features = shape
        heads, half = prod(outer), features // 2
        return ((heads, rows, half, 2), 3) if self.interleaved else ((heads, rows, 2, half), 2)

    def reference(self, x: Array, cos: Array, sin: Array) -> Array:
        shape, axis = self.halves(x.shape)
        first, second = np.moveaxis(x.reshape(shape), axis, 0)
        rotated = [first * cos - second * sin, first * sin + second * cos]
        return np.stack(rotated, axis).reshape(x.shape)

    def lower(self, b: Builder, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        shape, axis = self.halves(x.shape)
        cos, sin = (b.named(one, (x.shape[-2], x.shape[-1] // 2)) for one in (cos, sin))
        pairs = b.reshape(x, shape)
        rotated: Tensor = b.empty(shape)
        for which in (0, 1):
            h, r, j = b.loops_of((shape[0], shape[1], x.shape[-1] // 2))
            first, second = ([h, r, j, k] if axis == 3 else [h, r, k, j] for k in (0, 1))
            one, other = (cos, sin) if which == 0 else (sin, cos)
            left, right = pairs[first] * one[r, j], pairs[second] * other[r, j]
            value = left - right if which == 0 else left + right
            rotated = b.map((first, second)[which], value, into=rotated)
        return b.reshape(rotated, x.shape)
