"""Whether what a layer makes is right for every size of its inputs.

Python's own functions and numpy see the number for the hint in a size (`dialects/size.py`): a table
of the elements of an axis, or a loop of code up to an extent, is made for that size alone. What
holds for every size is the same for another hint. So a layer with open inputs is expanded for two
hints, and refused where they make something else.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import replace
from typing import TypeVar

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr
from xdsl.ir import Attribute, Block, Operation, ParametrizedAttribute, SSAValue

from ncc.dialects.attributes import SizeAttr, integers, number_of, tensor_type
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.ncnn.layer import Layer
from ncc.dialects.onnx.operator import SizesOp
from ncc.dialects.size import Assumption, NeedsNumbers, Size, assuming, form_of, is_open
from ncc.dialects.size_atoms import Symbol
from ncc.dialects.size_form import Form
from ncc.dialects.weights.sources import Random
from ncc.dialects.weights.stored import Raw, Stored
from ncc.dialects.weights.weight import WeightAttr

LayerT = TypeVar("LayerT", bound=Layer)

FURTHER = (3360, 96, 32, 16, 12, 8, 4, 2, 1, -1, -2, -4)
"""How far apart both hints may be. The first one counts that leads to the same decisions; many
numbers divide the first ones.
"""


def check_tables(layer: Layer, operands: Sequence[Tensor]) -> None:
    """Raise `NeedsNumbers` where a layer would make tables whose sizes its inputs decide."""
    shapes = [x.shape for x in operands]
    if any(is_open(*shape) for shape in shapes) and is_open(layer.tables(*shapes)):
        raise NeedsNumbers(f"{layer.type_name} of this kind makes tables for one size")


def check_any_size(
    layer: Layer,
    made: Sequence[Operation],
    operands: Sequence[Tensor],
    threads: int,
    assumed: Iterable[Assumption],
    checked: set[Hashable],
) -> None:
    """Raise `NeedsNumbers` where `made`, the expansion of a layer, is not right for all sizes.

    assumed: what the expansion took for granted. checked: the kinds of layers that are known to be
    right; a layer of a further kind adds it.
    """
    held = _sizes_of(layer)
    given = {
        s for n in (*held, *(n for x in operands for n in x.shape)) for s in form_of(n).symbols
    }
    if not given or (kind := _kind_of(layer, operands)) in checked:
        return
    symbols = further(given, list(assumed))
    read = list({x.value: x for x in operands}.values())
    block = Block(arg_types=[tensor_type(x.element_type, _resized(x, symbols)) for x in read])
    values: dict[SSAValue, SSAValue] = {}
    values.update((x.value, y) for x, y in zip(read, block.args, strict=True))
    # As in `operands`, what is read twice is one tensor.
    tensors = {x.value: Tensor(values[x.value], _resized(x, symbols)) for x in read}
    resized = [tensors[x.value] for x in operands]
    with assuming(kept=False):
        builder = Builder(block, layer.layer_name or layer.type_name, threads)
        other = _layer_with_hints(layer, symbols) if held else layer
        other.expand_all(builder, resized)
    if not are_alike(made, list(block.ops), values):
        raise NeedsNumbers(f"{layer.type_name} of this kind makes tables, or code, for one size")
    if kind is not None:
        checked.add(kind)


def _kind_of(layer: Layer, operands: Sequence[Tensor]) -> Hashable:
    """Equal for layers of one operand that are right for every size together, or wrong: only which
    weights of a file they have differs. None for others, whose operands may be constants.
    """
    if len(operands) != 1 or layer.regions:
        return None
    (x,) = operands
    params = ((name, _without_place(held)) for name, held in sorted(layer.properties.items()))
    return type(layer), tuple(params), x.shape, x.element_type


def _without_place(held: Attribute) -> Hashable:
    """An attribute; of weights of a file only what they are."""
    if isinstance(held, WeightAttr) and isinstance(held.data.source, Stored | Raw | Random):
        return held.shape, held.element_type
    return held


def further(
    symbols: Iterable[Symbol], assumed: Sequence[Assumption], steps: Sequence[int] = FURTHER
) -> dict[str, Form]:
    """Extents for other hints that lead to the same decisions: all as far, or else each as far as
    the others let it.
    """
    hints = {one.name: one.hint for one in symbols}
    known = [one for one in assumed if {s.name for s in one.form.symbols} <= hints.keys()]
    found = _moved(hints, hints, known, steps)
    if found is None:
        found = hints
        for name in hints:
            found = _moved(found, [name], known, steps) or found
    if any(found[name] == hints[name] for name in hints):
        raise NeedsNumbers("what it makes was decided for one size")
    return {one.name: Form.atom(replace(one, hint=found[one.name])) for one in symbols}


def _moved(
    extents: dict[str, int],
    names: Iterable[str],
    known: Sequence[Assumption],
    steps: Sequence[int],
) -> dict[str, int] | None:
    """The extents with others for some names, for which all that is known holds, too."""
    for more in steps:
        others = {**extents, **{name: extents[name] + more for name in names}}
        if min(others.values()) > 0 and all(one.holds(one.form.value(others)) for one in known):
            return others
    return None


def _resized(x: Tensor, symbols: dict[str, Form]) -> tuple[int, ...]:
    return tuple(with_hints(extent, symbols) for extent in x.shape)


def with_hints(extent: int, symbols: dict[str, Form]) -> int:
    """The same size with other hints."""
    return Size.of(form_of(extent).with_values(symbols))


def _sizes_of(layer: Layer) -> list[int]:
    """The sizes that a layer has besides its operands' shapes."""
    held = [*layer.properties.values()]
    for value in layer.operands:
        if isinstance(value.owner, SizesOp):
            held += value.owner.properties.values()
    return [n for one in held if isinstance(one, ArrayAttr) for n in _sizes_among(one)]


def _sizes_among(items: ArrayAttr[Attribute]) -> list[int]:
    return [item.data for item in items if isinstance(item, SizeAttr)]


def _layer_with_hints(layer: Layer, symbols: dict[str, Form]) -> Layer:
    """The same layer with other hints in the sizes that it has."""
    mapped: dict[SSAValue, SSAValue] = {}
    for value in layer.operands:
        if isinstance(value.owner, SizesOp):
            mapped[value] = _with_own_hints(value.owner.clone(), symbols).results[0]
    return _with_own_hints(layer.clone(mapped), symbols)


def _with_own_hints(layer: LayerT, symbols: dict[str, Form]) -> LayerT:
    for name, held in layer.properties.items():
        if isinstance(held, ArrayAttr) and _sizes_among(held):
            layer.properties[name] = integers([with_hints(number_of(one), symbols) for one in held])
    return layer


def are_alike(
    some: Sequence[Operation], others: Sequence[Operation], values: dict[SSAValue, SSAValue]
) -> bool:
    """Whether two lists of operations are the same but for hints. values: which value of the first
    list is which one of the second.
    """
    if len(some) != len(others):
        return False
    for one, other in zip(some, others, strict=True):
        if type(one) is not type(other) or len(one.results) != len(other.results):
            return False
        if [values.get(operand) for operand in one.operands] != list(other.operands):
            return False
        if not _same_items(one.properties, other.properties):
            return False
        if not _same_items(one.attributes, other.attributes):
            return False
        if not _same_values(one.results, other.results, values):
            return False
        for region, twin in zip(one.regions, other.regions, strict=True):
            for block, same in zip(region.blocks, twin.blocks, strict=True):
                if not _same_values(block.args, same.args, values):
                    return False
                if not are_alike(list(block.ops), list(same.ops), values):
                    return False
    return True


def _same_values(
    some: Sequence[SSAValue], others: Sequence[SSAValue], values: dict[SSAValue, SSAValue]
) -> bool:
    values.update(zip(some, others, strict=True))
    return all(same(a.type, b.type) for a, b in zip(some, others, strict=True))


def _same_items(some: dict[str, Attribute], others: dict[str, Attribute]) -> bool:
    return some.keys() == others.keys() and all(same(some[name], others[name]) for name in some)


def same(one: Attribute, other: Attribute) -> bool:
    """Whether two attributes are equal but for the hints of sizes."""
    if isinstance(one, SizeAttr) and isinstance(other, SizeAttr):
        return one.data.form.text == other.data.form.text
    if one == other:
        return True
    if type(one) is not type(other):
        return False
    if isinstance(one, DictionaryAttr) and isinstance(other, DictionaryAttr):
        return _same_items(dict(one.data), dict(other.data))
    parts, others = _parts(one), _parts(other)
    return parts != () and len(parts) == len(others) and all(map(same, parts, others))


def _parts(attribute: Attribute) -> Sequence[Attribute]:
    if isinstance(attribute, ArrayAttr):
        return tuple(attribute.data)
    return attribute.parameters if isinstance(attribute, ParametrizedAttribute) else ()
