"""Kernels of open shapes: sizes of the network become sizes of the kernel.

    for y < [(h + 1) // 2]: x[y * [16 * w + 32] ..]      a kernel of the network
    for y < [n0]: x[y * [n1] ..]                         and as code: n0, n1 are its arguments

So layers and networks share a kernel that do the same for other expressions. Its code computes
what it needs of these numbers; a launch tells it the values.

Each argument has strides of its own, also where two arguments have equal ones: so equal strides by
chance make no other kernel. But an operand shares the strides of a result that may take its place:
such a kernel has other code, which stores nothing twice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import partial
from typing import Any, TypeAlias, TypeVar

from xdsl.ir import Attribute, Block, SSAValue

from ncc.compiler.loops.kernel.kernel import Access, Kernel
from ncc.dialects.size import Size

T = TypeVar("T")

Change: TypeAlias = Callable[[Size], int]
"""What a size becomes."""

ANY = 1 << 20
"""The hint of a kernel's own size. Its code is for all values, and its key says no hint: so an
emitter finds all decisions in the schedule.
"""


@dataclass
class OwnSizes:
    """The sizes of one kernel, numbered in the order in which it names them.

    alike: arguments, each with the one whose strides it shares.
    """

    alike: Mapping[int, int] = field(default_factory=dict)
    values: list[Size] = field(default_factory=list)
    own: dict[tuple[Size, int | None], int] = field(default_factory=dict)

    def of(self, value: T) -> T:
        """The same kernel or schedule, or any part of it, with the kernel's own sizes."""
        return changed(value, partial(self._own, None), self._own_of)

    def _own_of(self, access: Access) -> Change:
        return partial(self._own, self.alike.get(access.argument, access.argument))

    def _own(self, argument: int | None, size: Size) -> int:
        found = self.own.get((size, argument))
        if found is None:
            symbol = Size.symbol(f"n{len(self.values)}", ANY, least=0)
            found = self.own[size, argument] = symbol
            self.values.append(size)
        return found


def changed(value: T, change: Change, change_of: Callable[[Access], Change] | None = None) -> T:
    """A kernel, or a part of one, with its sizes changed. change_of: how those of an access are."""
    if change_of is not None and isinstance(value, Access):
        change = change_of(value)
    part_of = partial(changed, change=change, change_of=change_of)
    found: Any = value
    match value:
        case Size():
            found = change(value)
        case int() | float() | str() | None:
            pass
        case tuple():
            parts = map(part_of, value)
            found = type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
        case Mapping():
            found = {key: part_of(held) for key, held in value.items()}
        case Attribute() | Block() | SSAValue():
            pass
        case _ if is_dataclass(value) and not isinstance(value, type):
            held = {part.name: getattr(value, part.name) for part in fields(value)}
            found = replace(value, **{name: part_of(part) for name, part in held.items()})
    return found  # type: ignore[no-any-return]


def owned(kernel: Kernel, schedule: T) -> tuple[Kernel, T, tuple[Size, ...]]:
    """A kernel and its schedule with the kernel's own sizes, and the values of these."""
    own = OwnSizes({read.argument: store.argument for read, store in kernel.in_place()})
    if kernel.is_open:
        kernel, schedule = own.of((kernel, schedule))
    return kernel, schedule, tuple(own.values)


def own_sizes(kernel: Kernel, schedule: object) -> int:
    """How many sizes of its own a kernel with its schedule has, after `owned`."""
    if not kernel.is_open:
        return 0
    found = OwnSizes()
    found.of((kernel, schedule))
    symbols = {symbol.name for size in found.values for symbol in size.form.symbols}
    return len(symbols)
