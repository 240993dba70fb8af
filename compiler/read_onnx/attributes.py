"""The attributes of a node, as the class of its operator declares them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ncc.compiler.read_onnx.tensors import array_of
from ncc.dialects.ncnn.layer import LayerError
from ncc.dialects.ncnn.param import NotYet, ParamValue
from ncc.dialects.onnx.operator import Operator
from ncc.dialects.weights.weight import WeightAttr

KINDS = {
    1: ("float", "f"),
    2: ("int64", "i"),
    3: ("string", "s"),
    4: ("tensor", "t"),
    6: ("floats", "floats"),
    7: ("ints64", "ints"),
    8: ("strings", "strings"),
}
"""Kinds of params and fields of an AttributeProto, by ONNX's numbers of types."""

CONSTANTS = {
    "value": ("tensor", None),
    "value_float": ("float", np.float32),
    "value_floats": ("floats", np.float32),
    "value_int": ("int64", np.int64),
    "value_ints": ("ints64", np.int64),
}
"""The attributes that a Constant may have: their kinds, and the types of what is no tensor."""

OTHER_KINDS = {5: "a graph", 9: "tensors", 10: "graphs", 11: "a sparse tensor", 13: "a type"}


def attributes_of(node: Any, cls: type[Operator]) -> dict[str, ParamValue]:
    """The attributes of a node by name; its graphs are no attributes here.

    Raises `LayerError` where the class declares them of another kind, `NotYet` where it does not
    declare them, or they are of a kind that no class declares.
    """
    found: dict[str, ParamValue] = {}
    for attribute in node.attribute:
        name = attribute.name
        if name in cls.REGIONS:
            continue
        if name in found:
            raise LayerError(f"the attribute {name!r} is there twice")
        declared = cls.LAYER.params.get(name)
        kind = None if declared is None or name in cls.INTERNAL else declared.kind
        found[name] = _value(node, attribute, kind)
    return found


def _value(node: Any, attribute: Any, declared: str | None) -> ParamValue:
    """The value of an attribute, which must be of the declared kind; None if there is none."""
    name = attribute.name
    if attribute.ref_attr_name:
        raise LayerError(f"the attribute {name!r} is that of a function, which it is not in")
    if attribute.type not in KINDS:
        kind = OTHER_KINDS.get(attribute.type, "of an unknown type")
        raise NotYet(f"{node.op_type} with the attribute {name!r}, which is {kind}")
    kind, _ = KINDS[attribute.type]
    if declared is None:
        raise NotYet(f"{node.op_type} with the attribute {name!r}")
    if declared != kind:
        raise LayerError(f"the attribute {name!r} is of the kind {kind}, not {declared}")
    return value_of(attribute)


def value_of(attribute: Any) -> ParamValue:
    """The value of an attribute of one of `KINDS`."""
    kind, field = KINDS[attribute.type]
    held = getattr(attribute, field)
    match kind:
        case "string":
            return str(held.decode(errors="replace"))
        case "strings":
            return tuple(text.decode(errors="replace") for text in held)
        case "tensor":
            return WeightAttr.typed(array_of(held))
        case "int64":
            return int(held)
        case "float":
            return float(held)
        case _:
            return tuple(held)


def constant_value(node: Any) -> WeightAttr:
    """The value of a Constant, in whichever of its attributes it stands."""
    if len(node.attribute) != 1:
        raise LayerError(f"it has {len(node.attribute)} attributes, not one value")
    (attribute,) = node.attribute
    kind, dtype = CONSTANTS.get(attribute.name, (None, None))
    value = _value(node, attribute, kind)
    return value if isinstance(value, WeightAttr) else WeightAttr.typed(np.array(value, dtype))
