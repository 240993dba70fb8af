"""Gemm: alpha (A B + beta C), of constants and inputs in any mixture."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from xdsl.dialects.builtin import f32
from xdsl.ir import Attribute
from xdsl.ir.affine import AffineExpr

from ncc.dialects.index_notation import Index
from ncc.dialects.ncnn.checks import check_choice, check_positive
from ncc.dialects.ncnn.layer import (
    Array,
    Builder,
    LayerError,
    Shape,
    Tensor,
    Weight,
    WeightAttr,
    integer,
    layer,
    real,
)
from ncc.dialects.ncnn.quantization.block_quantization import (
    BLOCKS,
    BlockQuantization,
    Quantizable,
    check_quantize_term,
    scale_columns,
    scale_columns_array,
)
from ncc.dialects.ncnn.quantization.int8 import product, refuse_int8
from ncc.dialects.ncnn.quantization.int8_product import Factor, FactorArray, dequantized_element
from ncc.dialects.scalar import Scalar
from ncc.dialects.size import are_equal, is_equal

EVERY_BYTE = BlockQuantization(bits=8, block=BLOCKS[0], input_scales=False)

NO_C, SCALAR, VECTOR_OF_ROWS, COLUMN, FULL, ROW = range(-1, 5)
"""The shape of C in Gemm: nothing, [1], [M], [M, 1], [M, N], [N] or [1, N]."""


class Sizes(NamedTuple):
    """The extents of a product (M, K) x (K, N), and how C is spread over (M, N)."""

    m: int
    n: int
    k: int
    c: int


@layer("Gemm", inputs=(0, 3))
class GemmOp(Quantizable):
    """alpha * (A B + beta * C), each of A, B, C an input or a constant, A and B transposed or not.

    A is (M, K), or (K, M) with transA; B is (K, N), or (N, K) with transB; (M, 1, K) does as well.
    The result is (M, N), with output_N1M (M, 1, N), with output_transpose its transpose. It is
    float32, whatever output_elemtype and output_elempack say of ncnn's storage.

    With a quantize_term of quantization/block_quantization.py the constant B (N, K) is packed; with
    another one the product is that of quantization/int8_product.py.
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
    constant_TILE_M = integer(20)
    constant_TILE_N = integer(21)
    constant_TILE_K = integer(22)

    A_data = Weight(
        lambda op: op.shape_of_a if op.constantA and not op.is_int8 else None, tagged=True
    )
    A_data_packed = Weight(
        lambda op: op.shape_of_a if op.constantA and op.is_int8 else None, packed=True
    )
    B_data = Weight(
        lambda op: op.shape_of_b if op.constantB and not op.quantize_term else None, tagged=True
    )
    B_data_packed = Weight(
        lambda op: op.packed_shape_of_b if op.constantB and op.quantize_term else None, packed=True
    )
    C_data = Weight(lambda op: op.shape_of_c if op.constantC else None, tagged=True)
    B_data_quantize_scales = Weight(
        lambda op: op.blocks.scales_shape(*op.shape_of_b) if op.blocks else None,
        around=lambda op: float(op.blocks.typical_scale(op.constantK)),
    )
    B_data_input_scales = Weight(
        lambda op: (op.constantK,) if op.blocks and op.blocks.input_scales else None
    )

    A_data_int8_scales = Weight(
        lambda op: (op.constantM,) if op.is_int8 and op.constantA else None,
        around=lambda op: EVERY_BYTE.typical_scale(op.constantK),
    )
    B_data_int8_scale = Weight(
        lambda op: (1,) if op.is_int8 and op.constantB else None,
        around=lambda op: EVERY_BYTE.typical_scale(op.constantK),
    )

    @property
    def shape_of_a(self) -> Shape:
        shape = (self.constantM, self.constantK)
        return shape[::-1] if self.transA else shape

    @property
    def shape_of_b(self) -> Shape:
        shape = (self.constantK, self.constantN)
        return shape[::-1] if self.transB else shape

    @property
    def packed_shape_of_b(self) -> Shape:
        """The bytes of a quantized B."""
        return self.blocks.packed_shape(*self.shape_of_b) if self.blocks else self.shape_of_b

    @property
    def shape_of_c(self) -> Shape | None:
        """The shape of a constant C."""
        m, n = self.constantM, self.constantN
        shapes: tuple[Shape, ...] = ((1,), (m,), (m, 1), (m, n), (n,))
        kind = self.constant_broadcast_type_C
        return None if kind == NO_C else shapes[kind]

    @property
    def constant_a(self) -> WeightAttr | None:
        """A constant A, as float32 or as int8."""
        return self.A_data_packed if self.is_int8 else self.A_data

    @property
    def constant_b(self) -> WeightAttr | None:
        """A constant B, as float32 or as int8."""
        if self.blocks and self.constantB:
            packed, scales = self.B_data_packed, self.B_data_quantize_scales
            return self.blocks.dequantized(packed, scales, self.constantK)
        return self.B_data_packed if self.is_int8 else self.B_data

    def element_types(self, *operands: Attribute) -> Attribute:
        for weight in (self.A_data, self.B_data, self.C_data):
            if weight is not None:
                refuse_int8(weight, "quantize_term")
        return f32

    def check(self) -> None:
        check_quantize_term(self.quantize_term)
        if self.blocks:
            self._check_blocks()
        check_choice(self, "constant_broadcast_type_C", range(NO_C, ROW + 1))
        kind = self.constant_broadcast_type_C
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

    def _check_blocks(self) -> None:
        """The one form of Gemm whose B ncnn takes packed."""
        wanted = {"constantA": 0, "constantB": 1, "transA": 0, "transB": 1}
        wanted |= {"output_N1M": 0, "output_elempack": 0, "output_transpose": 0}
        for name, value in wanted.items():
            if getattr(self, name) != value:
                raise LayerError(f"with weights in blocks {name} is {value}", name)
        if self.output_elemtype not in (0, 1):
            raise LayerError("with weights in blocks output_elemtype is 0 or 1", "output_elemtype")

    def sizes(self, shapes: Sequence[Shape]) -> Sizes:
        """M, N, K and the form of C; `LayerError` where the operands do not fit."""
        given = list(shapes)
        a = self.shape_of_a if self.constantA else _matrix(given.pop(0))
        b = self.shape_of_b if self.constantB else _matrix(given.pop(0))
        m, k = a[::-1] if self.transA else a
        other, n = b[::-1] if self.transB else b
        if not is_equal(k, other):
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
        a, b = (
            given.pop(0) if held is None else held.array()
            for held in (self.constant_a, self.constant_b)
        )
        a, b = a.reshape(_matrix(a.shape)), b.reshape(_matrix(b.shape))
        y = self._product_array(a.T if self.transA else a, b.T if self.transB else b)
        if sizes.c != NO_C:
            c = self.C_data.array() if self.C_data else given.pop(0)
            y = y + np.float32(self.beta) * c.reshape(_SPREAD[sizes.c](sizes))
        y = np.asarray(y * np.float32(self.alpha))
        return (y.T if self.output_transpose else y).reshape(self.infer(*(x.shape for x in inputs)))

    def _product_array(self, a: Array, b: Array) -> Array:
        if not self.is_int8:
            return scale_columns_array(a, self.B_data_input_scales) @ b
        a_scales, b_scales = (
            None if held is None else held.array()
            for held in (self.A_data_int8_scales, self.B_data_int8_scale)
        )
        return FactorArray.of_rows(a, a_scales).times(FactorArray.of_whole(b, b_scales))

    def lower(self, b: Builder, *inputs: Tensor) -> Tensor:
        shape = self.infer(*(x.shape for x in inputs))
        sizes = self.sizes([x.shape for x in inputs])
        given = list(inputs)
        factors = [
            given.pop(0) if held is None else b.weight(held)
            for held in (self.constant_a, self.constant_b)
        ]
        left, right = (b.reshape(x, _matrix(x.shape)) for x in factors)
        added: Tensor | None = None
        if sizes.c != NO_C:
            added = self._expand_c(b, b.weight(self.C_data) if self.C_data else given.pop(0), sizes)
        if self.is_int8:
            y = self._int8_product(b, left, right, added)
        else:
            left = scale_columns(b, left, self.B_data_input_scales)
            y = self._product(b, left, right, added)
        return b.expand(y, [[0], [1, 2]], shape) if self.output_N1M else y

    def _product(self, b: Builder, left: Tensor, right: Tensor, added: Tensor | None) -> Tensor:
        m, n, k = b.loops("m n k")
        a_element, b_element = self._elements(left, right, m, n, k)
        stationary_a = self.constantA and not self.constantB
        term = b_element * a_element if stationary_a else a_element * b_element
        init = 0.0 if added is None else added
        y = b.sum(self._to(m, n), over=(k,), of=term, init=init)
        if self.alpha == 1.0:
            return y
        at = b.loops_of(y.shape)
        return b.map(at, y[at] * self.alpha)

    def _int8_product(
        self, b: Builder, left: Tensor, right: Tensor, added: Tensor | None
    ) -> Tensor:
        a_scales, b_scales = (
            None if held is None else b.weight(held)
            for held in (self.A_data_int8_scales, self.B_data_int8_scale)
        )
        a = Factor.of_rows(b, left, a_scales, transposed=bool(self.transA))
        whole = Factor.of_whole(b, right, b_scales)
        m, n, k = b.loops("m n k")
        elements = self._elements(a.values, whole.values, m, n, k)
        sums = b.sum(self._to(m, n), over=(k,), of=product(*elements))
        at = b.loops_of(sums.shape)
        y = dequantized_element(sums[at], a, self._to(*at)[0], whole)
        y = y if added is None else y + added[at]
        return b.map(at, y * self.alpha)

    def _elements(
        self, left: Tensor, right: Tensor, m: AffineExpr, n: AffineExpr, k: AffineExpr
    ) -> tuple[Scalar, Scalar]:
        """A[m, k] and B[k, n]."""
        return (
            left[k, m] if self.transA else left[m, k],
            right[n, k] if self.transB else right[k, n],
        )

    def _to(self, m: AffineExpr, n: AffineExpr) -> tuple[AffineExpr, AffineExpr]:
        """The row and the column of the result for element (m, n) of the product."""
        return (n, m) if self.output_transpose else (m, n)

    def _expand_c(self, b: Builder, c: Tensor, sizes: Sizes) -> Tensor:
        """beta * C at every place of the result."""
        m, n = b.loops("m n", m=sizes.m, n=sizes.n)
        row, column = _SPREAD[sizes.c](sizes)
        at: list[Index] = [m if row > 1 else 0, n if column > 1 else 0]
        if c.rank == 1:
            at = at[1:] if column > 1 else at[:1]
        value = c[at] if self.beta == 1.0 else c[at] * self.beta
        return b.map(self._to(m, n), value)


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
    """How a C of this shape is added to (M, N); a vector of M == N elements is a row."""
    forms: list[tuple[Shape, int]] = [((1,), SCALAR), ((1, 1), SCALAR)]
    forms += [((m,), VECTOR_OF_ROWS), ((n,), ROW)]
    forms += [((m, 1), COLUMN), ((m, n), FULL), ((1, n), ROW)]
    return next((form for shape, form in reversed(forms) if are_equal(shape, c)), None)
