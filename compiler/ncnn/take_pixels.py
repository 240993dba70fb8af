"""Inputs that are fed pixels: what a caller would do with numpy becomes a part of the network.

    %data = ncnn.Input() {w, h, c = 3}             %pixels = ncnn.Input() {w = 3, h = w, c = h}
    %conv1 = ncnn.Convolution(%data)         ->    %data = ncnn.Pixels(%pixels) {mean, norm}
                                                   %conv1 = ncnn.Convolution(%data)

The new input has the name of the old one.

Needs: nothing.  Breaks: nothing.
"""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects.builtin import ModuleOp
from xdsl.rewriter import InsertPoint, Rewriter

from ncc.compiler.diagnostics import Unsupported
from ncc.dialects.ncnn.axes import EXTENT_NAMES
from ncc.dialects.ncnn.layer import Layer
from ncc.dialects.ncnn.network import Network
from ncc.dialects.ncnn.pixels import PixelsOp
from ncc.dialects.ncnn.plumbing import InputOp
from ncc.dialects.shapes import DYNAMIC, OpenShape
from ncc.runtime.errors import InputError
from ncc.runtime.pixel_input import PixelInput
from ncc.runtime.pixel_orders import Conversion


def take_pixels(module: ModuleOp, pixels: Mapping[str, PixelInput]) -> None:
    """Feed the named inputs pixels.

    Raises `InputError` for a name that is no input, or one of another shape than an image.
    """
    network = Network.of(module)
    for name, chosen in pixels.items():
        value = network.inputs.get(name)
        if value is None:
            raise InputError.unknown_name("input", name, network.inputs)
        owner = value.owner
        assert isinstance(owner, InputOp)
        if owner.TYPED or len(owner.results) > 1:
            what = f"pixels for input {name!r} of an .onnx" if owner.TYPED else "pixels for it"
            raise Unsupported(what, how="`ncc optimize net.onnx net.param net.bin` first")
        fed = _input(name, chosen, owner.stated)
        given = {"mean": chosen.mean, "norm": chosen.norm}
        params = {key: numbers for key, numbers in given.items() if numbers is not None}
        made = PixelsOp.make(
            fed.results,
            {"conversion": chosen.conversion, **params},
            name=f"{name}_pixels",
            blobs=[f"{name}_values"],
        )
        Rewriter.insert_op([fed, made], InsertPoint.before(owner))
        Rewriter.replace_op(owner, [], new_results=made.results)
    network.function.update_function_type()


def _input(name: str, chosen: PixelInput, stated: OpenShape | None) -> Layer:
    """The input for pixels. stated: the shape that the file says."""
    if stated is None:
        stated = (None, None, None)
    if len(stated) != 3 or stated[0] not in (None, chosen.channels):
        wanted = f"({chosen.channels}, height, width)"
        raise InputError(f"no pixels for input {name!r}", name, wanted, str(stated))
    shape = chosen.fed(stated, Conversion.of(chosen.conversion).channels)
    extents = (DYNAMIC if extent is None else extent for extent in shape)
    params = dict(zip(EXTENT_NAMES[len(shape)], extents, strict=True))
    return InputOp.make([], params, name=name, blobs=[name])
