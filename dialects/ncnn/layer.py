"""The interface of a layer: its params, its weights, its shape rule and its meaning.

    @layer("Pooling")
    class PoolingOp(Layer):
        \"\"\"The largest, or the mean, of each window.\"\"\"

        pooling_type = integer(0, 0)
        kernel_w = integer(1, 0)
        kernel_h = integer(11, "kernel_w")          # absent: as kernel_w

        def check(self) -> None: ...                              # params that ncnn would refuse
        def infer(self, x: Shape) -> Shape: ...                   # shapes
        def element_types(self, x: Attribute) -> Attribute: ...   # f32, unless it says otherwise
        def tables(self, x: Shape) -> int: ...                    # numbers that `expand` computes
        def reference(self, x: Array) -> Array: ...               # meaning, in numpy
        def lower(self, b: Builder, x: Tensor) -> Tensor: ...    # meaning, in linalg

A network is a module of one function. Its layers stand in file order, one op a layer; a blob is a
result. Names live in discardable attributes, so that no rewrite depends on them:

    func.func @network() -> (tensor<10xf32>) attributes {outputs = ["prob"]} {
      %data = ncnn.Input() {w = 28, h = 28, c = 1, layer = "data", blobs = ["data"], line = 3} : ...
      %conv1 = ncnn.Convolution(%data) {num_output = 8, ..., weight = #ncnn.weight<...>} : ...
      func.return %prob : tensor<10xf32>
    }

Types are `tensor<*xf32>` until shapes and element types are inferred. `outputs` names the returned
values: a name survives when the layer that made it does not.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, ClassVar, NamedTuple, Self, TypeAlias, TypeVar, cast

import numpy as np
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    IntegerAttr,
    StringAttr,
    TensorType,
    UnrankedTensorType,
    f32,
    i32,
)
from xdsl.interfaces import HasCanonicalizationPatternsInterface
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    OpDef,
    OptPropertyDef,
    ParsePropInAttrDict,
    PropertyDef,
    RegionDef,
    base,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.irdl.declarative_assembly_format import FormatProgram
from xdsl.irdl.operations import get_accessors_from_op_def
from xdsl.parser import Parser
from xdsl.pattern_rewriter import RewritePattern
from xdsl.printer import Printer
from xdsl.traits import Pure

from ncc.dialects.attributes import extents_of, tensor_type
from ncc.dialects.element import name_of
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.ncnn.param import (
    PARAM_TYPES,
    LayerError,
    Param,
    ParamValue,
    Weight,
    integer,
    integers,
    real,
    reals,
    string,
    text_of,
    to_attribute,
)
from ncc.dialects.shapes import DYNAMIC, OpenShape, Shape
from ncc.dialects.size import is_open
from ncc.dialects.weights.sources import Array
from ncc.dialects.weights.weight import WeightAttr

__all__ = [
    "DYNAMIC",
    "LAYERS",
    "Array",
    "Builder",
    "Expansion",
    "Layer",
    "LayerError",
    "OpenShape",
    "Param",
    "ParamValue",
    "Shape",
    "Tensor",
    "Weight",
    "WeightAttr",
    "counts_of",
    "declare",
    "integer",
    "integers",
    "layer",
    "real",
    "reals",
    "shape_of",
    "string",
    "text_of",
]

Shapes: TypeAlias = Sequence[Shape]
Expansion: TypeAlias = "tuple[Sequence[Layer], Sequence[SSAValue]]"
"""Layers in the place of another one, and the values of its results."""


class Declaration(NamedTuple):
    """The declarations of a layer type, as `@layer` found them."""

    type: str
    inputs: tuple[int, int | None]
    outputs: tuple[int, int | None]
    params: Mapping[str, Param[Any]]
    weights: Mapping[str, Weight]

    def param_of_id(self, id: int) -> Param[Any] | None:
        return next((p for p in self.params.values() if p.id == id), None)


PATTERNS: dict[str, list[RewritePattern]] = {}
"""The canonicalization patterns of a layer type, by ncnn's name; `canonicalize` fills it."""


class Layer(IRDLOperation, HasCanonicalizationPatternsInterface):
    """One layer of a network; each type is a class of its own."""

    LAYER: ClassVar[Declaration]

    READS_COUNTED: ClassVar[bool] = False
    """Whether it takes values with rows that only the run counts: shapes with `DYNAMIC` in them."""

    FOLDS: ClassVar[bool] = False
    """Whether constants in are folded to constants out where shapes are inferred."""

    OWN_LAYOUT: ClassVar[tuple[int, ...]] = ()
    """The results that ncnn hands out in a layout of its own kernels: only it can read them."""

    PROPERTIES: ClassVar[Mapping[str, PropertyDef]] = {}
    """Its attributes besides params and weights."""

    REGIONS: ClassVar[tuple[str, ...]] = ()
    """The names of its regions."""

    name = "ncnn.layer"
    inputs = var_operand_def(base(TensorType) | base(UnrankedTensorType))
    outputs = var_result_def(base(TensorType) | base(UnrankedTensorType))

    feature_mask = integer(31, 0)

    traits = traits_def(Pure())
    irdl_options = (ParsePropInAttrDict(),)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        return _format_of(cls).parse(parser, cls)

    def print(self, printer: Printer) -> None:
        _format_of(type(self)).print(printer, self)

    @classmethod
    def make(
        cls,
        inputs: Sequence[SSAValue],
        params: Mapping[str, ParamValue] | None = None,
        weights: Mapping[str, WeightAttr] | None = None,
        *,
        name: str = "",
        blobs: Sequence[str] = ("",),
        line: int = 0,
        shapes: Sequence[Shape] | None = None,
    ) -> Self:
        """A layer with as many results as `blobs`; results are unranked where no shapes are given.

        Params equal to their default may be given or left out; they mean the same.
        """
        properties: dict[str, Attribute] = {}
        for key, value in (params or {}).items():
            properties[key] = to_attribute(cls.LAYER.params[key].kind, value)
        properties.update(weights or {})
        types: list[Attribute] = (
            [_UNRANKED] * len(blobs)
            if shapes is None
            else [TensorType(f32, list(shape)) for shape in shapes]
        )
        attributes: dict[str, Attribute] = {
            "layer": StringAttr(name),
            "blobs": ArrayAttr([StringAttr(blob) for blob in blobs]),
        }
        if line:
            attributes["line"] = IntegerAttr(line, i32)
        op = cls.create(
            operands=inputs, result_types=types, properties=properties, attributes=attributes
        )
        for result, blob in zip(op.results, blobs, strict=True):
            result.name_hint = _hint(blob)
        return op

    @classmethod
    def get_canonicalization_patterns(cls) -> tuple[RewritePattern, ...]:
        """The canonicalizations about this layer and its neighbours that make networks simpler."""
        return tuple(PATTERNS.get(cls.LAYER.type, ()))

    @property
    def type_name(self) -> str:
        """The layer's type, by ncnn's name."""
        return self.LAYER.type

    @property
    def layer_name(self) -> str:
        """The layer's name in the file; empty where a rewrite made it."""
        attribute = self.attributes.get("layer")
        return "" if attribute is None else text_of(attribute)

    @property
    def blob_names(self) -> tuple[str, ...]:
        """The names of the results, in order; empty strings where a blob has none."""
        attribute = self.attributes.get("blobs")
        if not isinstance(attribute, ArrayAttr):
            return ("",) * len(self.results)
        return tuple(map(text_of, attribute.data))

    @property
    def line(self) -> int:
        """The line in the .param file, from 1; 0 where there is none."""
        attribute = self.attributes.get("line")
        return attribute.value.data if isinstance(attribute, IntegerAttr) else 0

    @classmethod
    def get_irdl_definition(cls) -> OpDef:
        return _definition_of(cls)

    def verify_(self) -> None:
        self.get_irdl_definition().verify(self)
        declared = self.LAYER
        _verify_count(declared.type, "input", len(self.operands), declared.inputs)
        _verify_count(declared.type, "output", len(self.results), declared.outputs)
        self.check()
        for name, weight in declared.weights.items():
            held, shape = self.properties.get(name), weight.shape(self)
            if isinstance(held, WeightAttr) and shape is not None and held.shape != shape:
                raise LayerError(f"weight '{name}' has shape {held.shape}, not {shape}")
            if (held is None) != (shape is None):
                raise LayerError(f"weight '{name}' is {'missing' if held is None else 'surplus'}")

    def check(self) -> None:
        """Raise `LayerError` where params alone are out of ncnn's domain (a stride of 0)."""

    def infer(self, *inputs: Any, **_: Any) -> Shape | Shapes:
        """Shapes of the results from shapes of the operands, or `LayerError`.

        One result: a shape. Several: a list of shapes.
        """
        raise NotImplementedError(f"{self.name} has no shape rule")

    def takes(self, position: int) -> tuple[Attribute, ...]:
        """The element types that an operand may have; an Input that feeds it gets the first."""
        return (f32,)

    def element_types(self, *operands: Attribute) -> Attribute | Sequence[Attribute]:
        """Element types of the results from those of the operands, which are among `takes`.

        One type is that of every result.
        """
        return f32

    def caches(self) -> tuple[int, ...]:
        """The operands that hold values of earlier runs: they may be empty."""
        return ()

    def implied(self) -> tuple[int, ...]:
        """The operands whose shapes it tells where nobody else does: caches of any number of rows,
        and a mask over what they hold.
        """
        return ()

    def settling(self) -> tuple[int, ...]:
        """The operands of which the values decide shapes: constants where shapes are inferred."""
        return ()

    def complete(self, shapes: Sequence[Shape | None], rows: int) -> list[Shape | None]:
        """Shapes for the operands of `implied` that have none yet, by those of the others.

        rows: an extent that nobody else has, for one that nothing is known of.
        """
        return list(shapes)

    def folded(self) -> Sequence[Layer | SSAValue] | None:
        """Constants, or values that exist, in place of the results, if operands and their shapes
        tell these.
        """
        return None

    def expanded(self) -> Expansion | None:
        """Layers that compute the results in its place, where it is no more than these."""
        return None

    def tables(self, *inputs: Any) -> int:
        """How many numbers its expansion computes as tables, from shapes and params, at most."""
        return 0

    def reference(self, *inputs: Any, **_: Any) -> Array | Sequence[Array]:
        """The results as numpy computes them. One result: an array. Several: a list.

        Arithmetic is of the type that is given: of float32, as in networks, or of float64, to be
        exact. Where values jump (rounding to int8, what a detector finds) it is that of float32.
        """
        raise NotImplementedError(f"{self.name} has no reference")

    def lower(self, b: Builder, *inputs: Any, **_: Any) -> Tensor | Sequence[Tensor]:
        """The layer in the linalg level. One result: a tensor. Several: a list."""
        raise NotImplementedError(f"{self.name} has no expansion")

    def infer_all(self, shapes: Shapes) -> list[Shape]:
        """`infer`, always as a list."""
        inferred = self.infer(*shapes)
        if not inferred or isinstance(inferred[0], int):
            return [cast(Shape, tuple(inferred))]
        return [tuple(shape) for shape in cast(Shapes, inferred)]

    def element_types_all(self, operands: Sequence[Attribute]) -> list[Attribute]:
        """`element_types`, one a result; `LayerError` where an operand is not what `takes` says."""
        for position, element in enumerate(operands):
            taken = self.takes(position)
            if element not in taken:
                names = " or ".join(map(name_of, taken))
                raise LayerError(f"input {position} is {name_of(element)}; it takes {names}")
        found = self.element_types(*operands)
        return [found] * len(self.results) if isinstance(found, Attribute) else list(found)

    def reference_all(self, arrays: Sequence[Array]) -> list[Array]:
        """`reference`, always as a list of contiguous arrays."""
        computed = self.reference(*arrays)
        several = [computed] if isinstance(computed, np.ndarray) else list(computed)
        return [np.ascontiguousarray(array) for array in several]

    def expand_all(self, b: Builder, tensors: Sequence[Tensor]) -> list[Tensor]:
        """`lower`, always as a list."""
        expanded = self.lower(b, *tensors)
        return [expanded] if isinstance(expanded, Tensor) else list(expanded)


_FORM = OpDef.from_pyrdl(Layer)
"""The definition of a layer as an operation of xDSL; layer types differ in properties only."""

# What xDSL's decorator of an operation gives each class, here once for all types: `op.inputs`.
_accessors = get_accessors_from_op_def(_FORM, None)
for _name in ("inputs", "outputs", "traits"):
    setattr(Layer, _name, _accessors[_name])


@cache
def _definition_of(cls: type[Layer]) -> OpDef:
    """The same of one layer type; most are never asked for it."""
    declared = cls.LAYER
    params = {key: OptPropertyDef(PARAM_TYPES[p.kind]) for key, p in declared.params.items()}
    weights = dict.fromkeys(declared.weights, OptPropertyDef(base(WeightAttr)))
    properties = {**cls.PROPERTIES, **params, **weights}
    regions = [(name, RegionDef()) for name in cls.REGIONS]
    return replace(_FORM, name=cls.name, properties=properties, regions=regions)


def _verify_count(type: str, what: str, count: int, bounds: tuple[int, int | None]) -> None:
    least, most = bounds
    if count < least or (most is not None and count > most):
        if most is None:
            wanted = f"at least {least}"
        else:
            wanted = str(least) if least == most else f"{least} to {most}"
        raise LayerError(f"{type} has {count} {what}s, but takes {wanted}")


FORMAT = "`(` $inputs `)` {} attr-dict `:` functional-type($inputs, $outputs)"
"""How a layer is written."""


@cache
def _format_of(cls: type[Layer]) -> FormatProgram:
    """The same for one layer type. To read it takes long, and few types are ever written."""
    regions = " ".join(f"${name}" for name in cls.REGIONS)
    return FormatProgram.from_str(FORMAT.format(regions), cls.get_irdl_definition())


_UNRANKED = UnrankedTensorType(f32)

_NUMBERS = re.compile(r"(_\d+)+$")


def _hint(blob: str) -> str | None:
    """A blob's name as the name of an SSA value, where the text can say it.

    Numbers at its end are left out: the printer adds them where a name is used twice.
    """
    hint = _NUMBERS.sub("", re.sub(r"\W", "_", blob))
    return hint if hint and not hint[0].isdigit() and hint.isascii() else None


LAYERS: dict[str, type[Layer]] = {}
"""Every layer type by ncnn's name, in the order of the families."""

L = TypeVar("L", bound=Layer)
Count: TypeAlias = int | tuple[int, int | None]


def layer(name: str, *, inputs: Count = 1, outputs: Count = 1) -> Callable[[type[L]], type[L]]:
    """Declare a class as the layer `name`, with so many inputs and outputs.

    A count is a number, or a pair (least, most) where None means any number. Raises `ValueError`
    where another class is that layer.
    """

    def register(cls: type[L]) -> type[L]:
        known = LAYERS.get(name)
        # A cell of a notebook may be run again.
        if known is not None and (known.__module__, known.__qualname__) != (
            cls.__module__,
            cls.__qualname__,
        ):
            homes = f"{known.__module__} and {cls.__module__}"
            raise ValueError(f"the layer type {name!r} is declared twice, by {homes}")
        LAYERS[name] = declare(cls, name, counts_of(inputs), counts_of(outputs))
        return cls

    return register


Range: TypeAlias = tuple[int, int | None]


def declare(cls: type[L], name: str, inputs: Range, outputs: Range) -> type[L]:
    """Make a class with params and weights the operation `ncnn.name`."""
    declaring = [c for c in reversed(cls.__mro__) if c is Layer or c not in Layer.__mro__]
    members = {key: member for c in declaring for key, member in vars(c).items()}
    params = {key: m for key, m in members.items() if isinstance(m, Param)}
    weights = {key: m for key, m in members.items() if isinstance(m, Weight)}
    cls.name = f"ncnn.{name}"
    cls.LAYER = Declaration(name, inputs, outputs, params, weights)
    return cls


def counts_of(count: Count) -> Range:
    """The least and the most that a count allows."""
    return (count, count) if isinstance(count, int) else count


def shape_of(value: SSAValue) -> Shape | None:
    """The shape of a value, or None while it is not known."""
    kind = value.type
    return extents_of(kind) if isinstance(kind, TensorType) else None


def stated_shape(value: SSAValue) -> Shape | None:
    """The shape of a value if all of its extents are known numbers."""
    shape = shape_of(value)
    if shape is None or is_open(*shape) or min(shape, default=1) < 1:
        return None
    return shape


def blob_type(element: Attribute, shape: Shape) -> TensorType[Attribute]:
    """The type of a value; an extent of `DYNAMIC` only the run knows."""
    return tensor_type(element, [DYNAMIC_INDEX if n == DYNAMIC else n for n in shape])
