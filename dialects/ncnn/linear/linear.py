"""Matrix products: InnerProduct, MatMul, and Embed, which picks rows of its matrix."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
from xdsl.dialects.builtin import f32, i8, i32
from xdsl.ir import Attribute
from xdsl.ir.affine import AffineExpr

from ncc.dialects.index_notation import Index
from ncc.dialects.ncnn.checks import check_positive
from ncc.dialects.ncnn.layer import (
    Array,
    Builder,
    Layer,
    LayerError,
    Shape,
    Tensor,
    Weight,
    WeightAttr,
    integer,
    layer,
)
from ncc.dialects.ncnn.param import held
from ncc.dialects.ncnn.quantization.int8 import Int8, Int8Layer, int8_of, product
from ncc.dialects.scalar import clamp, convert, to_index
from ncc.dialects.size import is_equal


def inner_product(b: Builder, x: Tensor, w: Tensor, init: Tensor | float) -> Tensor:
    """out[o] = init[o] + the sum over all of x of x * w[o, ...], w (outputs, elements of x).

    The weights take the shape of x, so that x keeps whatever layout it has.
    """
    w = b.expand(w, [[0], list(range(1, 1 + x.rank))], (w.shape[0], *x.shape))
    o, *r = b.loops_of((w.shape[0], *x.shape))
    return b.sum((o,), over=r, of=product(x[r], w[(o, *r)]), init=init)


def rows_by_matrix(
    b: Builder, x: Tensor, weight: WeightAttr | Tensor, bias: WeightAttr | Tensor | None
) -> Tensor:
    """out[r, o] = bias[o] + the sum over k of x[r, k] * w[o, k]: W applied to each row of x."""
    w = b.values(weight)
    sizes = (x.shape[0], w.shape[0])
    init = 0.0 if bias is None else b.spread(b.values(bias), sizes, 1)
    r, o, k = b.loops("r o k")
    return b.sum((r, o), over=(k,), of=product(x[r, k], w[o, k]), init=init)


@layer("InnerProduct")
class InnerProductOp(Int8Layer):
    """y = act(W x + b) of all elements of x; of each row of a matrix with as many columns as W."""

    num_output = integer(0)
    bias_term = integer(1)
    weight_data_size = integer(2)
    int8_scale_term = integer(8)

    weight = Weight(lambda op: (op.num_output, op.weight_data_size // op.num_output), tagged=True)
    bias = Weight(lambda op: (op.num_output,) if op.bias_term else None)
    weight_data_int8_scales = Weight(lambda op: (op.num_output,) if op.int8_scale_term else None)
    bottom_blob_int8_scales = Weight(lambda op: (1,) if op.int8_scale_term else None)

    def check(self) -> None:
        check_positive(self, ["num_output", "weight_data_size"])
        if self.weight_data_size % self.num_output:
            raise LayerError(
                f"weight_data_size is {self.weight_data_size}, not a multiple of num_output "
                f"{self.num_output}",
                "weight_data_size",
            )
        super().check()

    @property
    def int8(self) -> Int8 | None:
        scales = self.weight_data_int8_scales, self.bottom_blob_int8_scales
        return int8_of(self.num_output, self.weight, self.bias, *scales)

    def batched(self, x: Shape) -> bool:
        """Whether each row of x is multiplied by itself."""
        return len(x) == 2 and is_equal(x[1], self.weight_data_size // self.num_output)

    def infer(self, x: Shape) -> Shape:
        if self.batched(x):
            return (x[0], self.num_output)
        wanted = self.weight_data_size // self.num_output
        if not is_equal(prod(x), wanted):
            raise LayerError(f"input {x} has {prod(x)} elements, but the weights take {wanted}")
        return (self.num_output,)

    def reference(self, x: Array) -> Array:
        rows = x if self.batched(x.shape) else x.reshape(1, -1)
        if (int8 := self.int8) is not None:
            sums = int8.quantized(rows).astype(np.float64) @ int8.weight.array().T
            return int8.finished(sums, self, axis=1).reshape(self.infer(x.shape))
        y = rows @ held(self.weight, "weight").array().T
        if self.bias is not None:
            y = y + self.bias.array()
        return self.activate_array(y.reshape(self.infer(x.shape)))

    def lower(self, b: Builder, x: Tensor) -> Tensor:
        if (int8 := self.int8) is not None:
            x = int8.quantize(b, x)
            if self.batched(x.shape):
                return int8.finish(b, rows_by_matrix(b, x, int8.weight, None), self, first=1)
            return int8.finish(b, inner_product(b, x, b.weight(int8.weight), 0.0), self)
        weight = held(self.weight, "weight")
        if self.batched(x.shape):
            return self.activate(b, rows_by_matrix(b, x, weight, self.bias))
        init = 0.0 if self.bias is None else b.weight(self.bias)
        return self.activate(b, inner_product(b, x, b.weight(weight), init))


@layer("Embed")
class EmbedOp(Layer):
    """Row x[i] of the weights for every word i, and the bias; words out of range take the nearest.

    Words are int32. Weights are float32, or int8 times one scale: a value is q * (1 / scale).
    """

    num_output = integer(0)
    input_dim = integer(1)
    bias_term = integer(2)
    weight_data_size = integer(3)
    int8_scale_term = integer(18)

    weight = Weight(lambda op: (op.input_dim, op.num_output), tagged=True)
    bias = Weight(lambda op: (op.num_output,) if op.bias_term else None)
    weight_data_int8_scale = Weight(lambda op: (1,) if op.int8_scale_term else None)

    def check(self) -> None:
        check_positive(self, ["num_output", "input_dim", "weight_data_size"])
        if self.weight_data_size != self.num_output * self.input_dim:
            raise LayerError(
                f"weight_data_size is {self.weight_data_size}, not num_output {self.num_output} "
                f"times input_dim {self.input_dim}",
                "weight_data_size",
            )

    def takes(self, position: int) -> tuple[Attribute, ...]:
        return (i32,)

    def element_types(self, *operands: Attribute) -> Attribute:
        stored = None if self.weight is None else self.weight.element_type
        if stored is not None and (stored == i8) != bool(self.int8_scale_term):
            raise LayerError("int8 weights and a scale go together", "int8_scale_term")
        return f32

    def infer(self, x: Shape) -> Shape:
        if len(x) != 1:
            raise LayerError(f"the words are a vector, not of shape {x}")
        return (x[0], self.num_output)

    @property
    def unit(self) -> np.float32:
        """The scale of the weights."""
        scale = self.weight_data_int8_scale
        return np.float32(1) if scale is None else np.float32(1) / np.float32(scale.array()[0])

    def reference(self, x: Array) -> Array:
        rows = held(self.weight, "weight").array()[np.clip(x, 0, self.input_dim - 1)]
        y = rows * self.unit
        return np.asarray(y if self.bias is None else y + self.bias.array(), np.float32)

    def lower(self, b: Builder, x: Tensor) -> Tensor:
        w = b.weight(held(self.weight, "weight"))
        bias = None if self.bias is None else b.weight(self.bias)
        i, o = b.loops_of((x.shape[0], self.num_output))
        word = to_index(clamp(x[i], 0, self.input_dim - 1))
        y = convert(w.at(word, b.index(o)), f32)
        y = y if self.unit == 1 else y * float(self.unit)
        return b.map((i, o), y if bias is None else y + bias[o])


@layer("MatMul", inputs=2)
class MatMulOp(Layer):
    """A B of matrices, for each place of the outer axes; transB reads the matrices of B as (n, k).

    Outer axes are aligned at the inner end, 1 is repeated. Of a vector A the row axis is gone from
    the result, of a vector B the column axis; two vectors make [1].
    """

    transB = integer(0)

    def factors(self, a: Shape, b: Shape) -> tuple[Shape, Shape]:
        """The operands with a row axis for a vector A, a column axis for a vector B."""
        left = (1, *a) if len(a) == 1 else a
        right = b if len(b) > 1 else ((1, *b) if self.transB else (*b, 1))
        return left, right

    def infer(self, a: Shape, b: Shape) -> Shape:
        left, right = self.factors(a, b)
        k, other = left[-1], right[-1 if self.transB else -2]
        outer = _broadcast_outer(left[:-2], right[:-2])
        if not is_equal(k, other) or outer is None:
            raise LayerError(f"the factors {a} and {b} of MatMul do not fit")
        rows = () if len(a) == 1 else (left[-2],)
        columns = () if len(b) == 1 else (right[-2 if self.transB else -1],)
        return (*outer, *rows, *columns) or (1,)

    def reference(self, a: Array, b: Array) -> Array:
        shape = self.infer(a.shape, b.shape)
        transposed = np.swapaxes(b, -1, -2) if self.transB and b.ndim > 1 else b
        return np.asarray(a @ transposed).reshape(shape)

    def lower(self, b: Builder, x: Tensor, w: Tensor) -> Tensor:
        shape = self.infer(x.shape, w.shape)
        left, right = self.factors(x.shape, w.shape)
        outer = _broadcast_outer(left[:-2], right[:-2]) or ()
        x = x if x.rank > 1 else b.expand(x, [[0, 1]], left)
        w = w if w.rank > 1 else b.expand(w, [[0, 1]], right)
        columns = right[-2 if self.transB else -1]
        loops = b.loops_of((*outer, left[-2], columns, left[-1]))
        *places, m, n, k = loops
        at_x = _repeated(places, left[:-2])
        at_w = _repeated(places, right[:-2])
        element = w[(*at_w, n, k)] if self.transB else w[(*at_w, k, n)]
        y = b.sum((*places, m, n), over=(k,), of=x[(*at_x, m, k)] * element)
        return b.reshape(y, shape)


def _broadcast_outer(a: Shape, b: Shape) -> Shape | None:
    """Outer extents aligned at the inner end, 1 repeated; None where they do not fit."""
    rank = max(len(a), len(b))
    pairs = list(zip((1,) * (rank - len(a)) + a, (1,) * (rank - len(b)) + b, strict=True))
    if any(1 not in (p, q) and not is_equal(p, q) for p, q in pairs):
        return None
    return tuple(q if p == 1 else p for p, q in pairs)


def _repeated(loops: Sequence[AffineExpr], extents: Shape) -> list[Index]:
    """The indices of outer axes: the innermost loops, 0 where an extent of 1 is repeated."""
    inner = loops[len(loops) - len(extents) :]
    return [0 if n == 1 else loop for loop, n in zip(inner, extents, strict=True)]
