"""Makes a network of ncnn layers alone that is right for images of every size.

    x: ? x 3 x ? x ?   ->   an Input of 3 x ? x ?, and layers whose params no size decides

A .param says no shapes: convolutions, pools and most other layers take the size that they get. So
extents that the file leaves open become sizes, from which layers are made. Reshape and Interp may
compute theirs from the extents of other blobs. A layer that would need a size as a number is none,
and is refused as other operators are.

Python's own functions see the number for the hint in a size. So the layers are made for two hints,
and have to be the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from xdsl.dialects.builtin import ModuleOp, UnrankedTensorType
from xdsl.rewriter import Rewriter

from ncc.compiler.diagnostics import ModelError, Unsupported
from ncc.compiler.ncnn.any_size import are_alike, further, with_hints
from ncc.compiler.ncnn.infer_shapes import infer_shapes
from ncc.compiler.ncnn.open_shapes import open_shapes
from ncc.compiler.ncnn.sized_shapes import (
    Asked,
    default_hint,
    has_sizes,
    sized_shapes,
    with_equalities,
)
from ncc.compiler.onnx.convert_to_ncnn import convert_to_ncnn
from ncc.compiler.onnx.to_blobs import HOW, to_blobs
from ncc.compiler.options import Options
from ncc.dialects.element import element_of
from ncc.dialects.ncnn.layer import Layer
from ncc.dialects.ncnn.network import Network
from ncc.dialects.shapes import OpenShape, Shape, shown
from ncc.dialects.size import Assumption, NeedsNumbers, assuming, form_of
from ncc.dialects.size_form import Form, least
from ncc.dialects.size_needs import needed

DIVISORS, MOST_TRIED = range(2, 129), 2048
"""Numbers that may have to divide a side, and the largest side that they are tried with."""

LARGEST_SIDE = 1 << 20
"""No image has a side like this."""

SIDE = 128
"""The hint of open extents: products of several have to be sizes that memory holds."""

HOW_SHAPE = "--shape name=1x3x48x?"

STEPS = (-32, 32, -16, 16, 12, 8, 4, 2, 1)
"""How far the other hint may be: not far, for the same reason."""


def read_blobs(path: str, asked: Asked) -> tuple[ModuleOp, tuple[str, ...]]:
    """The network of an .onnx as ncnn layers alone, as a .param would have it, and warnings.

    asked: shapes of inputs; an extent of None is open, as one is that the file leaves open. But an
    open batch of the file is one of 1.

    Raises what reading and inferring shapes raise, and `Unsupported` for what no layer is.
    """
    from ncc.compiler.read_onnx.read_model import read_model

    module = read_model(path)
    shapes, warnings = _of_one_sample(module, asked)
    if not any(shape is not None and None in shape for shape in shapes.values()):
        infer_shapes(module, _known(shapes))
        return _made(module), tuple(warnings)
    hints = {name: _hint(shape) for name, shape in _known(shapes).items()}
    opened = sized_shapes(module, Options(input_shapes=_known(shapes), hints=hints))
    with assuming() as found:
        try:
            infer_shapes(module.clone(), opened)
        except ModelError as error:
            what = f"in ncnn: inputs of any size: {str(error).splitlines()[0]}"
            raise Unsupported(what, how=f"settle the sides that are fixed: {HOW_SHAPE}") from error
    sized = with_equalities(opened, found)
    warnings += _decided(opened, sized)
    if not has_sizes(sized):
        infer_shapes(module, sized)
        return _made(module), tuple(warnings)
    made, assumed = _sized(module.clone(), sized)
    warnings += _limits(assumed)
    other, _ = _sized(module.clone(), _with_other_hints(sized, list(assumed)))
    _require_same(Network.of(made), Network.of(other))
    _forget_shapes(made)
    return made, tuple(warnings)


def _made(module: ModuleOp) -> ModuleOp:
    convert_to_ncnn(module, composed=True)
    to_blobs(Network.of(module))
    return module


def _sized(module: ModuleOp, shapes: Asked) -> tuple[ModuleOp, Mapping[Assumption, None]]:
    """The layers for inputs of these shapes, and what they take for granted."""
    with assuming() as assumed:
        infer_shapes(module, shapes)
        try:
            return _made(module), assumed
        except NeedsNumbers as error:
            raise Unsupported(f"in ncnn: {error}", how=HOW) from error


def _of_one_sample(module: ModuleOp, asked: Asked) -> tuple[dict[str, OpenShape | None], list[str]]:
    """The shapes of the inputs, with 1 in place of a batch that the file leaves open."""
    found: dict[str, OpenShape | None] = dict(open_shapes(module, asked))
    warnings = []
    for name, shape in found.items():
        if name not in asked and shape is not None and len(shape) > 1 and shape[0] is None:
            found[name] = (1, *shape[1:])
            warnings.append(f"warning: input {name!r}, {shown(shape)}, is a batch of 1 in ncnn")
    return found, warnings


def _known(shapes: Mapping[str, OpenShape | None]) -> dict[str, OpenShape]:
    return {name: shape for name, shape in shapes.items() if shape is not None}


def _hint(shape: OpenShape) -> Shape:
    """The shape that decisions are taken for, if these depend on it."""
    usual = zip(shape, default_hint(shape), strict=True)
    return tuple(min(n, SIDE) if extent is None else extent for extent, n in usual)


def _decided(opened: Asked, sized: Asked) -> Iterator[str]:
    """Warnings of extents that were open, and that the layers allow one value only."""
    for name, shape in sized.items():
        if shape != opened[name]:
            extents = "x".join(map(str, shape))
            yield f"warning: input {name!r} has to be {extents}"


def _limits(assumed: Mapping[Assumption, None]) -> Iterator[str]:
    """Warnings of sizes that the layers do not take. Raises `Unsupported` for other decisions."""
    known = needed(assumed)
    equal = [one for one in known if one.relation == "==" and len(one.form.symbols) == 1]
    yield from _multiples(equal)
    for one in known:
        if one in equal or (one.relation == ">=" and _is_never_negative(one.form)):
            continue
        said = _limit(one)
        if said is None:
            how = f"settle the size: {HOW_SHAPE}"
            raise Unsupported(f"in ncnn: layers that are right only where {one}", how=how)
        yield f"warning: the files are for {said}"


def _multiples(equal: Sequence[Assumption]) -> Iterator[str]:
    """Warnings of sides for which some have to be equal, as for the parts of a Concat: those that a
    number divides are sure to be right.
    """
    for symbol in dict.fromkeys(symbol for one in equal for symbol in one.form.symbols):
        forms = [one.form for one in equal if symbol in one.form.symbols]
        for divisor in DIVISORS:
            sides = range(divisor, MOST_TRIED, divisor)
            if not any(form.value({symbol.name: side}) for form in forms for side in sides):
                yield f"warning: the files are for {symbol.name} that is a multiple of {divisor}"
                break
        else:
            raise Unsupported(f"in ncnn: sizes with {forms[0]} == 0", how=HOW)


def _is_never_negative(form: Form) -> bool:
    """Whether this holds for all sides that an image may have."""
    sides = {s.name: Form.atom(replace(s, most=LARGEST_SIDE)) for s in form.symbols}
    low = least(form.with_values(sides))
    return low is not None and low >= 0


def _limit(one: Assumption) -> str | None:
    """The least size, or what has to be equal for ONNX as well; None for any other decision."""
    if one.relation == "==":
        return f"sizes with {one}"
    terms = dict(one.form.terms)
    low = -terms.pop((), 0)
    if one.relation == ">=" and list(terms.values()) == [1] and len(one.form.symbols) == 1:
        (symbol,) = one.form.symbols
        return f"{symbol.name} >= {low}" if (symbol,) in terms else None
    return None


def _with_other_hints(shapes: Asked, assumed: Sequence[Assumption]) -> dict[str, OpenShape]:
    """The same sizes with other hints, for which all holds that was assumed."""
    symbols = {s for shape in shapes.values() for n in shape if n for s in form_of(n).symbols}
    try:
        moved = further(symbols, assumed, STEPS)
    except NeedsNumbers as error:
        raise Unsupported(f"in ncnn: {error}", how=HOW) from error
    return {
        name: tuple(None if n is None else with_hints(n, moved) for n in shape)
        for name, shape in shapes.items()
    }


def _require_same(network: Network, other: Network) -> None:
    """Raise `Unsupported` where layers are made for one size."""
    some, others = network.layers, other.layers
    if are_alike(some, others, {}):
        return
    differing = [
        layer.layer_name
        for layer, twin in zip(some, others, strict=False)
        if not _is_like(layer, twin)
    ]
    names = ", ".join(map(repr, differing[:3])) or "the number of layers"
    raise Unsupported(f"in ncnn: {names}, which one size decides", how=HOW)


def _is_like(layer: Layer, twin: Layer) -> bool:
    values = dict(zip(layer.operands, twin.operands, strict=False))
    return are_alike([layer], [twin], values)


def _forget_shapes(module: ModuleOp) -> None:
    """Let no pass see the shapes, which hold for the hints alone where numbers are made of them."""
    network = Network.of(module)
    for op in network.layers:
        for result in op.results:
            kind = UnrankedTensorType(element_of(result))
            Rewriter.replace_value_with_new_type(result, kind)
    network.function.update_function_type()
