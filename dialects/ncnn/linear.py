"""Matrix products: InnerProduct, Gemm, MatMul."""

from __future__ import annotations

from math import prod

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


@layer("InnerProduct")
class InnerProductOp(Activated):
    """y = act(W x + b) of all elements of x; of each row of a matrix with as many columns as W."""

    num_output = integer(0)
    bias_term = integer(1)
    weight_data_size = integer(2)
    int8_scale_term = integer(8)

    weight = Weight(lambda op: (op.num_output, op.weight_data_size // op.num_output), tagged=True)
    bias = Weight(lambda op: (op.num_output,) if op.bias_term else None)

    def check(self) -> None:
        if self.int8_scale_term:
            raise LayerError("int8 inner products are not supported yet", "int8_scale_term")
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
        assert self.weight is not None
        rows = x if self.batched(x.shape) else x.reshape(1, -1)
        y = rows @ self.weight.array().T
        if self.bias is not None:
            y = y + self.bias.array()
        return self.activate_array(y.reshape(self.infer(x.shape)))

    def expand(self, b: Builder, x: Tensor) -> Tensor:
        assert self.weight is not None
        w = b.weight(self.weight)
        if not self.batched(x.shape):
            return self.activate(b, inner_product(b, x, w, self.bias))
        sizes = (x.shape[0], self.num_output)
        init = 0.0 if self.bias is None else b.spread(b.weight(self.bias), sizes, 1)
        r, o, k = b.loops("r o k")
        return self.activate(b, b.sum((r, o), over=(k,), of=x[r, k] * w[o, k], init=init))


def matrix_product(b: Builder, x: Tensor, w: Tensor, *, trans_x: bool, trans_w: bool) -> Tensor:
    """(m, n): the sum over k of x[m, k] * w[k, n]; `trans_` reads (k, m) and (n, k)."""
    m, n, k = b.loops("m n k")
    left = x[k, m] if trans_x else x[m, k]
    right = w[n, k] if trans_w else w[k, n]
    return b.sum((m, n), over=(k,), of=left * right)
