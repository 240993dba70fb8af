"""Inputs that are fed pixels, and outputs that are returned as pixels: what a caller would do with
numpy becomes a part of the network.

    %data = ncnn.Input() {w, h, c = 3}             %pixels = ncnn.Input() {w = 3, h = w, c = h}
    %conv1 = ncnn.Convolution(%data)         ->    %data = ncnn.Pixels(%pixels) {mean, norm}
                                                   %conv1 = ncnn.Convolution(%data)

    %y = ncnn.Convolution(...)                     %y = ncnn.Convolution(...)
    func.return %y                           ->    %pixels = ncnn.ToPixels(%y) {mean, norm}
                                                   func.return %pixels

The new input and the new output have the names of the old ones. An .onnx has a batch axis: pixels
are a batch of 1, which `onnx.Unsqueeze` adds.

Needs: nothing.  Breaks: nothing.
"""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.rewriter import InsertPoint, Rewriter

from ncc.compiler.diagnostics import Unsupported
from ncc.dialects.element import element_of, name_of
from ncc.dialects.ncnn.axes import EXTENT_NAMES
from ncc.dialects.ncnn.layer import Layer
from ncc.dialects.ncnn.network import Network
from ncc.dialects.ncnn.pixels import PixelsOp, ToPixelsOp
from ncc.dialects.ncnn.plumbing import InputOp
from ncc.dialects.onnx.movement import UnsqueezeV1Op
from ncc.dialects.shapes import DYNAMIC, OpenShape
from ncc.runtime.errors import InputError
from ncc.runtime.pixel_input import PixelInput
from ncc.runtime.pixel_orders import Conversion
from ncc.runtime.pixel_output import PixelOutput


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
        if len(owner.results) > 1:
            how = "`ncc optimize net.onnx net.param net.bin` first"
            raise Unsupported(f"pixels for input {name!r}, beside which there is another", how=how)
        _feed(owner, name, chosen)
    network.function.update_function_type()


def _feed(owner: InputOp, name: str, chosen: PixelInput) -> None:
    """Put pixels in the place of an input."""
    batched = owner.TYPED
    if batched and element_of(owner.results[0]) != f32:
        kind = name_of(element_of(owner.results[0]))
        raise InputError(f"no pixels for input {name!r}", name, "an input of float32", kind)
    fed = _input(name, chosen, owner.stated, batched)
    made: list[Layer] = [
        PixelsOp.make(
            fed.results,
            {"conversion": chosen.conversion, **_said(mean=chosen.mean, norm=chosen.norm)},
            name=f"{name}_pixels",
            blobs=[f"{name}_values"],
        )
    ]
    if batched:
        blobs = [f"{name}_batch"]
        made += [
            UnsqueezeV1Op.make(made[0].results, {"axes": (0,)}, name=f"{name}_batch", blobs=blobs)
        ]
    Rewriter.insert_op([fed, *made], InsertPoint.before(owner))
    Rewriter.replace_op(owner, [], new_results=made[-1].results)


def _said(**numbers: tuple[float, ...] | None) -> dict[str, tuple[float, ...]]:
    return {key: several for key, several in numbers.items() if several is not None}


def return_pixels(module: ModuleOp, pixels: Mapping[str, PixelOutput]) -> None:
    """Return the named outputs as pixels. Raises `InputError` for a name that is no output."""
    network = Network.of(module)
    for name, chosen in pixels.items():
        names = list(network.output_names)
        if name not in names:
            raise InputError.unknown_name("output", name, names)
        place = names.index(name)
        made = ToPixelsOp.make(
            [network.terminator.operands[place]],
            {"conversion": chosen.conversion, **_said(mean=chosen.mean, scale=chosen.scale)},
            name=f"{name}_pixels",
            blobs=[f"{name}_pixels"],
        )
        Rewriter.insert_op(made, InsertPoint.before(network.terminator))
        network.terminator.operands[place] = made.results[0]
    network.function.update_function_type()


def _input(name: str, chosen: PixelInput, stated: OpenShape | None, batched: bool) -> Layer:
    """The input for pixels. stated: the shape that the file says. batched: whether it has a batch
    axis.
    """
    image = (None, None, None) if stated is None else stated
    fits = not batched or stated is None or (len(image) == 4 and image[0] in (1, None))
    if batched and stated is not None:
        image = image[1:]
    if not fits or len(image) != 3 or image[0] not in (None, chosen.channels):
        wanted = f"({'1, ' if batched else ''}{chosen.channels}, height, width)"
        raise InputError(f"no pixels for input {name!r}", name, wanted, str(stated))
    shape = chosen.fed(image, Conversion.of(chosen.conversion).channels)
    extents = (DYNAMIC if extent is None else extent for extent in shape)
    params = dict(zip(EXTENT_NAMES[len(shape)], extents, strict=True))
    return InputOp.make([], params, name=name, blobs=[name])
