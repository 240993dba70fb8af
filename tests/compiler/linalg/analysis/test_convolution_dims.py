"""Which loops of a convolution are for what, and how its windows lie."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects.builtin import ModuleOp

from ncc.compiler.linalg.analysis.convolution_dims import ConvolutionDims, Window
from ncc.compiler.linalg.analysis.generics import generics_of, network_of
from ncc.compiler.linalg.analysis.linalg_op import LinalgOp
from ncc.dialects.index_notation import Builder, Tensor
from tests.compiler.linalg.operations import ones, relu


def dims_of(module: ModuleOp) -> ConvolutionDims:
    """Those of the only operation of a network."""
    (op,) = generics_of(network_of(module).body.block)
    dims = ConvolutionDims.of(LinalgOp(op))
    assert dims is not None
    return dims


def test_a_convolution_in_groups(make_network: Callable[..., ModuleOp]) -> None:
    """One window at a stride and a dilation, one that is a single element."""

    def write(b: Builder, x: Tensor) -> Tensor:
        w = b.weight(ones(2, 5, 4, 3))
        g, o, y, z, i, k = b.loops("g o y:3 z i k")
        return b.sum((g, o, y, z), (i, k), x[g, i, y * 2 + k * 3, z] * w[g, o, i, k])

    dims = dims_of(make_network([(2, 4, 11, 6)], write))
    assert (dims.depth, dims.output_channel, dims.output_image) == ((0,), (1,), (2,))
    assert (dims.batch, dims.input_channel, dims.filter_loop) == ((3,), (4,), (5,))
    along_y = Window(image=2, stride=2, tap=5, axis=3, taps=3, dilation=3)
    assert dims.windows == (None, None, along_y, Window(image=3, stride=1))
    assert along_y.strides == (2, 3)


def test_group_and_channel_in_one_index_are_no_window(
    make_network: Callable[..., ModuleOp],
) -> None:
    """A group moves the weights as well: it is no image's loop."""

    def write(b: Builder, x: Tensor) -> Tensor:
        w = b.weight(ones(3, 5, 4))
        g, o, y, i = b.loops("g o y i")
        return b.sum((g, o, y), (i,), x[g * 4 + i, y] * w[g, o, i])

    dims = dims_of(make_network([(12, 7)], write))
    assert (dims.depth, dims.input_channel, dims.filter_loop) == ((0,), (3,), ())
    assert dims.windows == (None, Window(image=2, stride=1))


def test_taps_that_are_no_axis_of_the_weights_have_no_window(
    make_network: Callable[..., ModuleOp],
) -> None:
    """Their loops are for what they are for: the weights lie the other way round."""

    def write(b: Builder, x: Tensor) -> Tensor:
        w = b.weight(ones(5, 4, 3))
        o, y, i, k = b.loops("o y:5 i k:3")
        return b.sum((o, y), (i, k), x[i, y + k] * w[o, i, k * -1 + 2])

    dims = dims_of(make_network([(4, 7)], write))
    assert (dims.output_image, dims.filter_loop) == ((1,), (3,))
    assert dims.windows == (None, None)


def test_what_is_no_sum_of_products_has_none(make_network: Callable[..., ModuleOp]) -> None:
    """A window of a maximum, say, has no weights."""
    (op,) = generics_of(network_of(make_network([(2, 3)], relu)).body.block)
    assert ConvolutionDims.of(LinalgOp(op)) is None
