"""Kernels of open shapes: sizes of the network become sizes of the kernel.

    for y < [(h + 1) // 2]: x[y * [16 * w + 32] ..]      a kernel of the network
    for y < [n0]: x[y * [n1] ..]                         and as code: n0, n1 are its arguments

So layers and networks share a kernel that do the same for other expressions. Its code computes
what it needs of these numbers; a launch tells it the values.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any, TypeVar

from xdsl.ir import Attribute, Block, SSAValue

from ncc.dialects.size import Size, hint

T = TypeVar("T")


@dataclass
class OwnSizes:
    """The sizes of one kernel, numbered in the order in which it names them."""

    values: list[Size] = field(default_factory=list)
    numbered: dict[Size, int] = field(default_factory=dict)

    def of(self, value: T) -> T:
        """The same kernel or schedule, or any part of it, with the kernel's own sizes."""
        changed: Any = self._changed(value)
        return changed  # type: ignore[no-any-return]

    def _changed(self, value: Any) -> Any:
        match value:
            case Size():
                return self._own(value)
            case tuple():
                return tuple(map(self._changed, value))
            case Mapping():
                return {key: self._changed(held) for key, held in value.items()}
            case Attribute() | Block() | SSAValue():
                return value
            case _ if is_dataclass(value) and not isinstance(value, type):
                held = {part.name: getattr(value, part.name) for part in fields(value)}
                return replace(value, **{name: self._changed(part) for name, part in held.items()})
        return value

    def _own(self, size: Size) -> int:
        if size not in self.numbered:
            self.values.append(size)
        number = self.numbered.setdefault(size, len(self.values) - 1)
        return Size.symbol(f"n{number}", hint(size), least=0)


def has_sizes(value: object) -> bool:
    """Whether a kernel, or a part of one, names a size."""
    found = OwnSizes()
    found.of(value)
    return bool(found.values)


def own_sizes(*values: object) -> int:
    """How many sizes of its own a kernel with its schedule has, after `OwnSizes.of`."""
    found = OwnSizes()
    found.of(values)
    symbols = {symbol.name for size in found.values for symbol in size.form.symbols}
    return len(symbols)
