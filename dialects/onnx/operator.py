"""The interface of an ONNX operator: its attributes, its shape rule and its meaning.

    @operator("Clip", since=11)
    class ClipOp(Operator):
        \"\"\"x, limited to [min, max].\"\"\"

        def infer(self, x: Shape, min: Shape | None = None, ...) -> Shape: ...
        def reference(self, x: Array, min: Array | None = None, ...) -> Array: ...
        def lower(self, b: Builder, x: Tensor, min: Tensor | None = None, ...) -> Tensor: ...

    @operator("Clip", since=6, until=10)
    class ClipV6Op(Operator):
        min = real(-3.4028234663852886e38)
        ...

An operator is a layer (`ncc.dialects.ncnn.layer`) with ONNX's names: its operands have any rank,
the batch axis included, and any element types. An operand that is left out is None. A class holds
for the op sets `since` to `until`; the newest needs no `until`, and its name in the IR is
`onnx.Clip`. Older ones are `onnx.ClipV6`. Results beyond those that the node names are left out.

    infer           shapes of the results from those of the operands
    element_types   element types; by default those of the first operand
    reference       the meaning, in numpy; bfloat16 comes as float32, and may be returned so
    lower           the meaning, in index notation, at its own rank
    constant(k)     the values of operand k, where shapes depend on them: folded before, or those
                    of an input of the network; else `NotYet`. `SETTLES` names all such operands
    numbers(k)      the same of integers, which may be sizes (`ncc.dialects.size`)
    of_sizes        the results where operands hold sizes, in arrays of Python's integers
    of_fractions    the result where floats of sizes are rounded
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Sequence
from math import prod
from typing import Any, ClassVar, TypeVar

import numpy as np
from xdsl.dialects.builtin import DenseArrayBase, bf16, f32, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import OptPropertyDef, PropertyDef, base
from xdsl.pattern_rewriter import RewritePattern
from xdsl.rewriter import Rewriter

from ncc.dialects.attributes import tensor_type
from ncc.dialects.bfloat16 import from_bfloat16
from ncc.dialects.element import ELEMENTS, as_stored, dtype_of, element_of, name_of
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.ncnn.layer import Count, Layer, LayerError, Shapes, counts_of, declare, shape_of
from ncc.dialects.ncnn.param import NotYet
from ncc.dialects.ncnn.plumbing import MemoryDataOp
from ncc.dialects.onnx.attribute import integers, required, tensor
from ncc.dialects.scalar import number_of_size
from ncc.dialects.shapes import Shape, shown
from ncc.dialects.size import NeedsNumbers, Size, hint
from ncc.dialects.weights.sources import Array
from ncc.dialects.weights.weight import WeightAttr

__all__ = [
    "OPERATORS",
    "Array",
    "Builder",
    "ConstantOp",
    "LayerError",
    "NotYet",
    "Operator",
    "Shape",
    "SizesOp",
    "Tensor",
    "axes_of",
    "axis_of",
    "constant_of",
    "has_sizes",
    "is_sizes",
    "known",
    "objects",
    "operator",
    "sources_of",
]

STANDARD = ""
"""The domain of ONNX's own operators."""

PLACES = "places"
"""The property with the places of the operands, where one in the middle is left out."""

MOST_FOLDED = 1 << 26
"""Elements of a result that is folded."""

MOST_SIZES = 1 << 12
"""The same of one that holds sizes."""


class Operator(Layer):
    """One ONNX operator; each is a class of its own."""

    SINCE: ClassVar[int] = 1
    UNTIL: ClassVar[int | None] = None
    FOLDS: ClassVar[bool] = True
    BY_ELEMENT: ClassVar[bool] = False
    """Whether each element depends on those at its place alone."""
    SETTLES: ClassVar[tuple[int, ...]] = ()
    """The places of the operands that `constant` is asked for."""
    INTERNAL: ClassVar[tuple[str, ...]] = ()
    """The params that are ours: no attributes of a file."""
    ALIKE: ClassVar[Container[int]] = ()
    """The places of the operands that have to be of one element type."""

    PROPERTIES: ClassVar[dict[str, PropertyDef]] = {PLACES: OptPropertyDef(base(DenseArrayBase))}

    feature_mask = None  # type: ignore[assignment]

    @classmethod
    def get_canonicalization_patterns(cls) -> tuple[RewritePattern, ...]:
        """None: what is to be made simpler becomes ncnn layers."""
        return ()

    def takes(self, position: int) -> tuple[Attribute, ...]:
        return tuple(ELEMENTS.values())

    def element_types(self, *operands: Attribute) -> Attribute | Sequence[Attribute]:
        return operands[0]

    # --- operands that may be left out ----------------------------------------------------------

    @property
    def places(self) -> Sequence[int]:
        """The place of each operand among the operator's inputs."""
        held = self.properties.get(PLACES)
        if isinstance(held, DenseArrayBase):
            return [int(place) for place in held.get_values()]
        return range(len(self.operands))

    def leave_out(self, places: Sequence[int]) -> None:
        """Say the places of the operands, where they do not follow each other."""
        if list(places) != list(range(len(places))):
            self.properties[PLACES] = DenseArrayBase.from_list(i64, list(places))

    def operand_at(self, place: int) -> SSAValue | None:
        """The operand at a place; None where it is left out."""
        places = list(self.places)
        return self.operands[places.index(place)] if place in places else None

    def _placed(self, values: Sequence[Any]) -> list[Any]:
        """Values of the operands, with None for those that are left out."""
        found: list[Any] = [None] * (max(self.places, default=-1) + 1)
        for place, value in zip(self.places, values, strict=True):
            found[place] = value
        return found

    def element_at(self, place: int) -> Attribute | None:
        """The element type of an operand."""
        value = self.operand_at(place)
        return None if value is None else element_of(value)

    def constant(self, place: int) -> Array:
        """The values of an operand that decides shapes. Raises `NotYet` where only the run knows
        them.
        """
        value = self.operand_at(place)
        if value is None:
            raise LayerError(f"input {place} is missing")
        array = constant_of(value)
        if array is None:
            what = "that open shapes decide" if is_sizes(value) else "that only the run knows"
            way = " <- ".join(sources_of(value))
            raise NotYet(f"{self.type_name} with an input {place} {what}: {way}")
        return array

    def numbers(self, place: int) -> list[int]:
        """The integers of an operand that decides shapes, in order; some may be sizes."""
        value = self.operand_at(place)
        if value is not None and isinstance(value.owner, SizesOp):
            return list(value.owner.values)
        return [int(number) for number in self.constant(place).reshape(-1)]

    def optional_numbers(self, place: int) -> list[int] | None:
        """The same of an operand that may be left out."""
        return None if self.operand_at(place) is None else self.numbers(place)

    def settling(self) -> tuple[int, ...]:
        return tuple(k for k, place in enumerate(self.places) if place in self.SETTLES)

    def optional(self, place: int) -> Array | None:
        """The same of an operand that may be left out."""
        return None if self.operand_at(place) is None else self.constant(place)

    # --- the interface of a layer, with operands at their places --------------------------------

    def infer_all(self, shapes: Shapes) -> list[Shape]:
        inferred = super().infer_all(self._placed(shapes))[: len(self.results)]
        for shape in inferred if not isinstance(self, ConstantOp | SizesOp) else ():
            if 0 in shape:
                raise NotYet(f"a value without elements ({shown(shape)})")
        return inferred

    def element_types_all(self, operands: Sequence[Attribute]) -> list[Attribute]:
        for place, element in zip(self.places, operands, strict=True):
            if element not in self.takes(place):
                names = " or ".join(map(name_of, self.takes(place)))
                raise LayerError(f"input {place} is {name_of(element)}; it takes {names}")
        held = zip(self.places, operands, strict=True)
        alike = dict.fromkeys(name_of(kind) for place, kind in held if place in self.ALIKE)
        if len(alike) > 1:
            raise LayerError(f"its operands are not of one element type: {', '.join(alike)}")
        found = self.element_types(*self._placed(operands))
        several = [found] * len(self.results) if isinstance(found, Attribute) else list(found)
        return several[: len(self.results)]

    def reference_all(self, arrays: Sequence[Array]) -> list[Array]:
        kinds = [element_of(value) for value in self.operands]
        given = [
            from_bfloat16(array) if kind == bf16 and array.dtype == np.uint16 else array
            for array, kind in zip(arrays, kinds, strict=True)
        ]
        # Of float64, to be exact, the results stay so.
        exact = any(a.dtype == np.float64 and k == f32 for a, k in zip(arrays, kinds, strict=True))
        computed = self.reference(*self._placed(given))
        several = computed if isinstance(computed, list | tuple) else [computed]
        found = several[: len(self.results)]
        elements = self.element_types_all(kinds)
        # np.ascontiguousarray would give scalars an axis.
        return [
            np.asarray(array, order="C") if exact and element == f32 else as_stored(array, element)
            for array, element in zip(found, elements, strict=True)
        ]

    def expand_all(self, b: Builder, tensors: Sequence[Tensor]) -> list[Tensor]:
        lowered = self.lower(b, *self._placed(tensors))
        several = [lowered] if isinstance(lowered, Tensor) else list(lowered)
        return [
            Tensor(tensor.value, (), tensor.count) if shape_of(result) == () else tensor
            for tensor, result in zip(several, self.results, strict=False)
        ]

    def folded(self) -> Sequence[Layer | SSAValue] | None:
        """Constants, where all operands are."""
        if not self.FOLDS or not self.operands:
            return None
        arrays = [known_of(value) for value in self.operands]
        given = [array for array in arrays if array is not None]
        sizes = any(map(is_sizes, self.operands))
        try:
            with np.errstate(all="ignore"):
                if len(given) < len(arrays):
                    return self._as_known(self.of_fractions())
                if self._folds_to_much(given, MOST_SIZES if sizes else MOST_FOLDED):
                    return None
                if sizes:
                    return self._folded_sizes(given)
                return self.as_constants(self.reference_all(given))
        except NeedsNumbers:
            return None
        except (ArithmeticError, IndexError, TypeError, ValueError) as error:
            raise LayerError(f"its constants do not fit: {error}") from error

    def of_sizes(self, *operands: Any) -> Any:
        """The result where operands hold sizes, or a list of all results; None where nothing is
        known of them.
        """
        return None

    def _folded_sizes(self, given: Sequence[Array]) -> list[Layer] | None:
        return self._as_known(self.of_sizes(*self._placed(given)))

    def of_fractions(self) -> Array | None:
        """The result where floats of sizes are rounded (`rounded_sizes`)."""
        return None

    def _as_known(self, found: Any) -> list[Layer] | None:
        """What holds a result, or a list of all results."""
        if found is None:
            return None
        several = found if isinstance(found, list) else [found]
        elements = self.element_types_all([element_of(value) for value in self.operands])
        names = [*self.blob_names, *[""] * len(several)]
        return [
            known(one, element, self.layer_name, name)
            for one, element, name in zip(several, elements, names, strict=False)
        ]

    def _folds_to_much(self, arrays: Sequence[Array], most: int) -> bool:
        """Whether results have more elements than a constant should; those of none are small."""
        try:
            shapes = self.infer_all([array.shape for array in arrays])
        except NotYet:
            return False
        return any(hint(prod(shape)) > most for shape in shapes)

    def as_constants(self, arrays: Sequence[Array]) -> list[Layer]:
        """Constants in place of the results."""
        names = [*self.blob_names, *[""] * len(arrays)]
        return [
            ConstantOp.of(array, self.layer_name, name)
            for array, name in zip(arrays, names, strict=False)
        ]


def constant_of(value: SSAValue) -> Array | None:
    """The array of a constant; None for other values."""
    owner = value.owner
    if isinstance(owner, ConstantOp):
        return owner.array
    if isinstance(owner, MemoryDataOp):
        return owner.values.array()
    return None


def is_sizes(value: SSAValue) -> bool:
    """Whether a value holds sizes."""
    return isinstance(value.owner, SizesOp)


def known_of(value: SSAValue) -> Array | None:
    """The array of a constant, or one of Python's integers where it holds sizes."""
    owner = value.owner
    return owner.array if isinstance(owner, SizesOp) else constant_of(value)


def sources_of(value: SSAValue) -> Iterator[str]:
    """The nodes that lead to a value that is no constant, the nearest first."""
    seen = 0
    while isinstance(owner := value.owner, Layer) and seen < 6:
        yield f"{owner.layer_name or owner.blob_names[0]} ({owner.type_name})"
        unknown = [operand for operand in owner.operands if known_of(operand) is None]
        if not unknown:
            return
        value, seen = unknown[0], seen + 1


OPERATORS: dict[tuple[str, str], list[type[Operator]]] = {}
"""The classes of each operator, by domain and name; the newest first. `dialect` has those of all
families.
"""

OperatorT = TypeVar("OperatorT", bound=Operator)


def operator(
    name: str,
    *,
    since: int = 1,
    until: int | None = None,
    domain: str = STANDARD,
    inputs: Count = 1,
    outputs: Count = 1,
) -> Callable[[type[OperatorT]], type[OperatorT]]:
    """Declare a class as the operator `name` of the op sets `since` to `until`.

    inputs, outputs: their number, or a pair (least, most) where None means any number.
    """

    def register(cls: type[OperatorT]) -> type[OperatorT]:
        declare(cls, name, counts_of(inputs), counts_of(outputs))
        suffix = "" if until is None else f"V{since}"
        prefix = f"{domain}." if domain else ""
        cls.name = f"onnx.{prefix}{name}{suffix}"
        cls.SINCE, cls.UNTIL = since, until
        known = OPERATORS.setdefault((domain, name), [])
        known[:] = [other for other in known if other.SINCE != since]
        known.append(cls)
        known.sort(key=lambda other: -other.SINCE)
        return cls

    return register


@operator("Constant", inputs=0)
class ConstantOp(Operator):
    """A constant. The reader makes `value` of all other attributes."""

    value = tensor()

    @staticmethod
    def of(array: Array, name: str, blob: str) -> ConstantOp:
        """The constant of an array's values."""
        return ConstantOp.holding(WeightAttr.typed(array), name, blob)

    @staticmethod
    def holding(weight: WeightAttr, name: str, blob: str) -> ConstantOp:
        """The constant of a weight's values."""
        made = ConstantOp.make([], {"value": weight}, name=name, blobs=[blob])
        made.give_type()
        return made

    def give_type(self) -> None:
        """Give the result its type, which nothing else decides."""
        kind = tensor_type(self.weight.element_type, self.weight.shape)
        Rewriter.replace_value_with_new_type(self.results[0], kind)

    @property
    def weight(self) -> WeightAttr:
        return required(self.value, "value")

    @property
    def array(self) -> Array:
        return self.weight.array()

    def folded(self) -> None:
        """Itself."""
        return None

    def infer(self) -> Shape:
        return self.weight.shape

    def element_types(self, *operands: Attribute) -> Attribute:
        return self.weight.element_type

    def reference(self) -> Array:
        return self.array

    def lower(self, b: Builder) -> Tensor:
        if self.weight.shape:
            return b.weight(self.weight)
        return b.weight(WeightAttr.typed(self.array.reshape(1)))


class SizesOp(Operator):
    """Numbers that the shapes of the inputs decide: sizes, and others among them."""

    values = integers(())
    extents = integers(())

    @staticmethod
    def of(array: Array, element: Attribute, name: str, blob: str) -> SizesOp:
        """The numbers of an array."""
        params = {"values": tuple(array.reshape(-1).tolist()), "extents": array.shape}
        made = SizesOp.make([], params, name=name, blobs=[blob])
        kind = tensor_type(element, array.shape)
        Rewriter.replace_value_with_new_type(made.results[0], kind)
        return made

    @property
    def array(self) -> Array:
        """The numbers as Python's integers."""
        return objects(self.values, self.extents)

    def folded(self) -> None:
        """Itself."""
        return None

    def infer(self) -> Shape:
        return self.extents

    def element_types(self, *operands: Attribute) -> Attribute:
        return element_of(self.results[0])

    def lower(self, b: Builder) -> Tensor:
        kind = element_of(self.results[0])
        cells = [b.map([0], number_of_size(n, kind), into=b.empty((1,), kind)) for n in self.values]
        return b.reshape(b.concat(cells, 0), self.extents or (1,))


declare(SizesOp, "Sizes", (0, 0), (1, 1))
SizesOp.name = "onnx.Sizes"


def objects(values: Sequence[int], shape: Shape) -> Array:
    """An array of Python's integers; numpy would make numbers of sizes."""
    found = np.empty(len(values), object)
    found[:] = values
    return found.reshape(shape)


def has_sizes(array: Array) -> bool:
    """Whether there are sizes in an array."""
    return array.dtype == object


def known(found: Array | int, element: Attribute, name: str, blob: str) -> Operator:
    """A constant, or what holds sizes if there are some in an array, or a number is one."""
    array = objects([found], ()) if isinstance(found, int) else found
    if any(isinstance(value, Size) for value in array.flat):
        return SizesOp.of(array, element, name, blob)
    return ConstantOp.of(array.astype(dtype_of(element)), name, blob)


def axis_of(axis: int, rank: int) -> int:
    """An axis counted from the front. Raises `LayerError` where there is no such axis."""
    if not -rank <= axis < max(rank, 1):
        raise LayerError(f"axis {axis} of a value of {rank} axes", "axis")
    return axis % max(rank, 1)


def axes_of(axes: Sequence[int], rank: int) -> tuple[int, ...]:
    """The same of several, which have to be different."""
    found = tuple(axis_of(int(axis), rank) for axis in axes)
    if len(set(found)) < len(found):
        raise LayerError(f"the axes {tuple(axes)} of a value of {rank} axes are not different")
    return found
