"""The loops of a convolution by their role, with the names of MLIR's `inferConvolutionDims`.

y[n, c, o, p] += x[n, c, i, stride * p + dilation * k] * w[c, o, i, k]

batch n, depth c, output channel o, output image p, input channel i, filter loop k
"""

from __future__ import annotations

from typing import NamedTuple

from ncc.compiler.linalg.analysis.contraction_dims import ContractionDims
from ncc.compiler.linalg.analysis.linalg_op import LinalgOp, TensorAccess


class Window(NamedTuple):
    """The windows along an axis of the input: element `image` of the result reads element
    stride * image + dilation * tap.

    image, tap: loops; tap is None if a window is one element. axis: the axis of the filter that has
    the taps.
    """

    image: int
    stride: int
    tap: int | None = None
    axis: int | None = None
    taps: int = 1
    dilation: int = 1

    @property
    def strides(self) -> tuple[int, int]:
        """Of the image loop and of the taps: the stride and the dilation."""
        return self.stride, self.dilation


class ConvolutionDims(NamedTuple):
    """The two factors, and the loops; image and filter loops in the order of the input's axes.

    windows: one for each axis of the input that an image loop indexes, alone or with a filter loop;
    the filter loop must index one axis of the filter and nothing else. None for the other axes. If
    a window is one element, the loop of its axis is in `batch`, as in MLIR.
    """

    input: TensorAccess
    filter: TensorAccess
    batch: tuple[int, ...]
    output_image: tuple[int, ...]
    output_channel: tuple[int, ...]
    filter_loop: tuple[int, ...]
    input_channel: tuple[int, ...]
    depth: tuple[int, ...]
    windows: tuple[Window | None, ...]

    @staticmethod
    def of(linalg_op: LinalgOp, product: tuple[int, int] | None = None) -> ConvolutionDims | None:
        """The dims of a sum of products; None for any other operation. product: one of several."""
        dims = ContractionDims.of(linalg_op, product)
        if dims is None:
            return None
        m, k = set(dims.m), set(dims.k)
        forms = [form.loops() for form in dims.lhs.index]
        slid = [loops for loops in forms if loops & m and loops & k]
        image = tuple(d for loops in slid for d in dims.m if d in loops)
        taps = tuple(d for loops in slid for d in dims.k if d in loops)
        return ConvolutionDims(
            dims.lhs,
            dims.rhs,
            batch=tuple(d for d in dims.m if d not in image),
            output_image=image,
            output_channel=dims.n,
            filter_loop=taps,
            input_channel=tuple(d for d in dims.k if d not in taps),
            depth=dims.batch,
            windows=tuple(_window(linalg_op, dims, axis) for axis in range(len(forms))),
        )


def _window(linalg_op: LinalgOp, dims: ContractionDims, axis: int) -> Window | None:
    """The windows along an axis of the input; None if it has none."""
    form = dims.lhs.index[axis]
    loops = form.loops()
    image, taps = loops.intersection(dims.m), loops.intersection(dims.k)
    if len(image) != 1 or len(taps) > 1 or loops != image | taps or form.constant:
        return None
    (loop,) = image
    if not taps:
        return Window(loop, form.coefficient(loop))
    (tap,) = taps
    axes = [k for k, index in enumerate(dims.rhs.index) if index.bare == tap]
    uses = sum(index.coefficient(tap) != 0 for access in linalg_op.reads for index in access.index)
    if len(axes) != 1 or uses != len(linalg_op.live):
        return None
    extent, dilation = linalg_op.extents[tap], form.coefficient(tap)
    return Window(loop, form.coefficient(loop), tap, axes[0], extent, dilation)
