"""Matrix products: InnerProduct, Gemm, MatMul."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from xdsl.ir.affine import AffineExpr

from ncc.dialects.comprehension import Index
from ncc.dialects.ncnn.activation import activate, activate_array, check_activation
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
    real,
    reals,
)
from ncc.dialects.ncnn.window import check_positive


class Activated(Layer):
    """A layer that ends in one of ncnn's fused activations."""

    activation_type = integer(9)
    activation_params = reals(10)

    def check(self) -> None:
        check_activation(self.activation_type, self.activation_params)

    def activate_array(self, y: Array) -> Array:
        """The activation of every element."""
        return activate_array(y, self.activation_type, self.activation_params)

    def activate(self, b: Builder, y: Tensor) -> Tensor:
        """The activation of every element, as a computation of its own."""
        if self.activation_type == 0:
            return y
        at = b.loops_of(y.shape)
        return b.map(at, activate(y[at], self.activation_type, self.activation_params))


def inner_product(b: Builder, x: Tensor, w: Tensor, bias: WeightAttr | None) -> Tensor:
    """out[o] = bias[o] + the sum over all of x of x * w[o, ...], w (outputs, elements of x).

    The weights take the shape of x, so that x keeps whatever layout it has.
    """
    w = b.expand(w, [[0], list(range(1, 1 + x.rank))], (w.shape[0], *x.shape))
    o, *r = b.loops_of((w.shape[0], *x.shape))
    init = 0.0 if bias is None else b.weight(bias)
    return b.sum((o,), over=r, of=x[r] * w[(o, *r)], init=init)


def require_float(op: Layer) -> None:
    """Raise NotImplementedError where a layer computes with int8 weights and int8 inputs."""
    if term := getattr(op, "int8_scale_term", 0):
        raise NotImplementedError(f"int8 arithmetic (int8_scale_term = {term})")


def rows_by_matrix(
    b: Builder, x: Tensor, weight: WeightAttr | None, bias: WeightAttr | None
) -> Tensor:
    """out[r, o] = bias[o] + the sum over k of x[r, k] * w[o, k]: W applied to each row of x."""
    assert weight is not None
    w = b.weight(weight)
    sizes = (x.shape[0], w.shape[0])
    init = 0.0 if bias is None else b.spread(b.weight(bias), sizes, 1)
    r, o, k = b.loops("r o k")
    return b.sum((r, o), over=(k,), of=x[r, k] * w[o, k], init=init)


@layer("InnerProduct")
class InnerProductOp(Activated):
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

    def batched(self, x: Shape) -> bool:
        """Whether each row of x is multiplied by itself."""
        return len(x) == 2 and x[1] == self.weight_data_size // self.num_output

    def infer(self, x: Shape) -> Shape:
        if self.batched(x):
            return (x[0], self.num_output)
        wanted = self.weight_data_size // self.num_output
        if prod(x) != wanted:
            raise LayerError(f"input {x} has {prod(x)} elements, but the weights take {wanted}")
        return (self.num_output,)

    def reference(self, x: Array) -> Array:
        require_float(self)
        assert self.weight is not None
        rows = x if self.batched(x.shape) else x.reshape(1, -1)
        y = rows @ self.weight.array().T
        if self.bias is not None:
            y = y + self.bias.array()
        return self.activate_array(y.reshape(self.infer(x.shape)))

    def expand(self, b: Builder, x: Tensor) -> Tensor:
        require_float(self)
        assert self.weight is not None
        if self.batched(x.shape):
            return self.activate(b, rows_by_matrix(b, x, self.weight, self.bias))
        return self.activate(b, inner_product(b, x, b.weight(self.weight), self.bias))


NO_C, SCALAR, VECTOR_OF_ROWS, COLUMN, FULL, ROW = range(-1, 5)
"""What Gemm adds: nothing, [1], [M], [M, 1], [M, N], [N] or [1, N]."""


@dataclass(frozen=True)
class Sizes:
    """The extents of a product (M, K) x (K, N), and how C is spread over (M, N)."""

    m: int
    n: int
    k: int
    c: int


@layer("Gemm", inputs=(0, 3))
class GemmOp(Layer):
    """alpha * (A B + beta * C), each of A, B, C an input or a constant, A and B transposed or not.

    A is (M, K), or (K, M) with transA; B is (K, N), or (N, K) with transB; (M, 1, K) does as well.
    The result is (M, N), with output_N1M (M, 1, N), with output_transpose its transpose.
    """

    alpha = real(0, 1.0)
    beta = real(1, 1.0)
    transA = integer(2)
    transB = integer(3)
    constantA = integer(4)
    constantB = integer(5)
    constantC = integer(6)
    constantM = integer(7)
    constantN = integer(8)
    constantK = integer(9)
    constant_broadcast_type_C = integer(10)
    output_N1M = integer(11)
    output_elempack = integer(12)
    output_elemtype = integer(13)
    output_transpose = integer(14)
    quantize_term = integer(18)
    constant_TILE_M = integer(20)
    constant_TILE_N = integer(21)
    constant_TILE_K = integer(22)

    A_data = Weight(lambda op: op.shape_of_a if op.constantA else None, tagged=True)
    B_data = Weight(lambda op: op.shape_of_b if op.constantB else None, tagged=True)
    C_data = Weight(lambda op: op.shape_of_c if op.constantC else None, tagged=True)

    @property
    def shape_of_a(self) -> Shape:
        shape = (self.constantM, self.constantK)
        return shape[::-1] if self.transA else shape

    @property
    def shape_of_b(self) -> Shape:
        shape = (self.constantK, self.constantN)
        return shape[::-1] if self.transB else shape

    @property
    def shape_of_c(self) -> Shape | None:
        """The shape of a constant C."""
        m, n = self.constantM, self.constantN
        shapes: tuple[Shape, ...] = ((1,), (m,), (m, 1), (m, n), (n,))
        kind = self.constant_broadcast_type_C
        return None if kind == NO_C else shapes[kind]

    def check(self) -> None:
        if self.quantize_term:
            raise LayerError("quantized Gemm is not supported yet", "quantize_term")
        if self.output_elemtype not in (0, 1):
            raise LayerError(
                f"output_elemtype {self.output_elemtype} is not supported: results are fp32",
                "output_elemtype",
            )
        kind = self.constant_broadcast_type_C
        if not NO_C <= kind <= ROW:
            raise LayerError(
                f"constant_broadcast_type_C is {kind}, none of -1 to 4", "constant_broadcast_type_C"
            )
        needed = "MK" * bool(self.constantA) + "NK" * bool(self.constantB)
        if self.constantC:
            needed += {VECTOR_OF_ROWS: "M", COLUMN: "M", FULL: "MN", ROW: "N"}.get(kind, "")
        check_positive(self, [f"constant{extent}" for extent in needed])
        dynamic = (not self.constantA) + (not self.constantB)
        most = dynamic + (not self.constantC)
        if not dynamic <= len(self.operands) <= most:
            raise LayerError(
                f"Gemm has {len(self.operands)} inputs, but its constants leave {dynamic} to {most}"
            )

    def sizes(self, shapes: Sequence[Shape]) -> Sizes:
        """M, N, K and the form of C; `LayerError` where the operands do not fit."""
        given = list(shapes)
        a = self.shape_of_a if self.constantA else _matrix(given.pop(0))
        b = self.shape_of_b if self.constantB else _matrix(given.pop(0))
        m, k = a[::-1] if self.transA else a
        other, n = b[::-1] if self.transB else b
        if k != other:
            raise LayerError(f"A {a} and B {b} do not fit: K is {k} in A and {other} in B")
        if self.constantC:
            c = self.constant_broadcast_type_C
            held = self.shape_of_c
            if c != NO_C and _broadcast(held or (), m, n) is None:
                raise LayerError(f"C {held} cannot be added to a result of {(m, n)}")
        elif given:
            found = _broadcast(given[0], m, n)
            if found is None:
                raise LayerError(f"C {given[0]} cannot be added to a result of {(m, n)}")
            c = found
        else:
            c = NO_C
        return Sizes(m, n, k, c)

    def infer(self, *shapes: Shape) -> Shape:
        sizes = self.sizes(shapes)
        rows, columns = (sizes.m, sizes.n)[:: -1 if self.output_transpose else 1]
        return (rows, 1, columns) if self.output_N1M else (rows, columns)

    def reference(self, *inputs: Array) -> Array:
        sizes = self.sizes([x.shape for x in inputs])
        given = list(inputs)
        a = self.A_data.array() if self.A_data else given.pop(0)
        b = self.B_data.array() if self.B_data else given.pop(0)
        a, b = a.reshape(_matrix(a.shape)), b.reshape(_matrix(b.shape))
        y = (a.T if self.transA else a) @ (b.T if self.transB else b)
        if sizes.c != NO_C:
            c = self.C_data.array() if self.C_data else given.pop(0)
            y = y + np.float32(self.beta) * c.reshape(_SPREAD[sizes.c](sizes))
        y = np.asarray(y * np.float32(self.alpha))
        return (y.T if self.output_transpose else y).reshape(self.infer(*(x.shape for x in inputs)))

    def expand(self, b: Builder, *inputs: Tensor) -> Tensor:
        shape = self.infer(*(x.shape for x in inputs))
        sizes = self.sizes([x.shape for x in inputs])
        given = list(inputs)
        left = b.weight(self.A_data) if self.A_data else given.pop(0)
        right = b.weight(self.B_data) if self.B_data else given.pop(0)
        left, right = (b.reshape(x, _matrix(x.shape)) for x in (left, right))
        init: Tensor | float = 0.0
        if sizes.c != NO_C:
            init = self._expand_c(b, b.weight(self.C_data) if self.C_data else given.pop(0), sizes)
        m, n, k = b.loops("m n k")
        a_cell = left[k, m] if self.transA else left[m, k]
        b_cell = right[n, k] if self.transB else right[k, n]
        stationary_a = self.constantA and not self.constantB
        term = b_cell * a_cell if stationary_a else a_cell * b_cell
        y = b.sum((n, m) if self.output_transpose else (m, n), over=(k,), of=term, init=init)
        if self.alpha != 1.0:
            at = b.loops_of(y.shape)
            y = b.map(at, y[at] * self.alpha)
        return b.expand(y, [[0], [1, 2]], shape) if self.output_N1M else y

    def _expand_c(self, b: Builder, c: Tensor, sizes: Sizes) -> Tensor:
        """beta * C at every place of the result."""
        m, n = b.loops(f"m:{sizes.m} n:{sizes.n}")
        row, column = _SPREAD[sizes.c](sizes)
        at: list[Index] = [m if row > 1 else 0, n if column > 1 else 0]
        if c.rank == 1:
            at = at[1:] if column > 1 else at[:1]
        value = c[at] if self.beta == 1.0 else c[at] * self.beta
        return b.map((n, m) if self.output_transpose else (m, n), value)


_SPREAD: Mapping[int, Callable[[Sizes], tuple[int, int]]] = {
    SCALAR: lambda sizes: (1, 1),
    VECTOR_OF_ROWS: lambda sizes: (sizes.m, 1),
    COLUMN: lambda sizes: (sizes.m, 1),
    FULL: lambda sizes: (sizes.m, sizes.n),
    ROW: lambda sizes: (1, sizes.n),
}
"""C as a matrix that broadcasts to (M, N), by its form."""


def _matrix(shape: Shape) -> Shape:
    """An operand of Gemm as a matrix: (rows, 1, columns) is one."""
    if len(shape) == 3 and shape[1] == 1:
        return (shape[0], shape[2])
    if len(shape) != 2:
        raise LayerError(f"operand {shape} of Gemm is no matrix")
    return shape


def _broadcast(c: Shape, m: int, n: int) -> int | None:
    """How a C of this shape is added to (M, N); a vector of M == N cells is a row."""
    forms: list[tuple[Shape, int]] = [((1,), SCALAR), ((m,), VECTOR_OF_ROWS), ((n,), ROW)]
    forms += [((m, 1), COLUMN), ((m, n), FULL), ((1, n), ROW)]
    return next((form for shape, form in reversed(forms) if shape == c), None)


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
        if k != other or outer is None:
            raise LayerError(f"the factors {a} and {b} of MatMul do not fit")
        rows = () if len(a) == 1 else (left[-2],)
        columns = () if len(b) == 1 else (right[-2 if self.transB else -1],)
        return (*outer, *rows, *columns) or (1,)

    def reference(self, a: Array, b: Array) -> Array:
        shape = self.infer(a.shape, b.shape)
        transposed = np.swapaxes(b, -1, -2) if self.transB and b.ndim > 1 else b
        return np.asarray(a @ transposed).reshape(shape)

    def expand(self, b: Builder, x: Tensor, w: Tensor) -> Tensor:
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
        cell = w[(*at_w, n, k)] if self.transB else w[(*at_w, k, n)]
        y = b.sum((*places, m, n), over=(k,), of=x[(*at_x, m, k)] * cell)
        return b.reshape(y, shape)


def _broadcast_outer(a: Shape, b: Shape) -> Shape | None:
    """Outer extents aligned at the inner end, 1 repeated; None where they do not fit."""
    rank = max(len(a), len(b))
    pairs = list(zip((1,) * (rank - len(a)) + a, (1,) * (rank - len(b)) + b, strict=True))
    if any(p != q and 1 not in (p, q) for p, q in pairs):
        return None
    return tuple(q if p == 1 else p for p, q in pairs)


def _repeated(loops: Sequence[AffineExpr], extents: Shape) -> list[Index]:
    """The indices of outer axes: the innermost loops, 0 where an extent of 1 is repeated."""
    inner = loops[len(loops) - len(extents) :]
    return [0 if n == 1 else loop for loop, n in zip(inner, extents, strict=True)]
