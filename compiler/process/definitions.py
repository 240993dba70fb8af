"""Lazy definitions: dataclasses and xDSL's operations get what few are asked for when asked.

xDSL's operations and our own classes make some four hundred dataclasses, whose methods Python
compiles from texts, and two hundred assembly formats, which xDSL reads with a parser, as it reads
the definitions of three hundred operations: more than half of the time of importing them. A
compilation calls a tenth of these methods, makes a third of these operations, and writes or reads
IR only where someone wants to see it. So each is made when it is first asked for; methods that only
keep what they are given are not even compiled then.

Abstract classes, as those of operations are, tell faster what is of them: passes ask that some ten
thousand times. Cached properties do without the lock that they have up to Python 3.11: two threads
may make the same twice, as they may in a later one.
"""

from __future__ import annotations

import abc
import dataclasses
import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from threading import RLock
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from xdsl.irdl import IRDLOperation, OpDef
    from xdsl.irdl.declarative_assembly_format import FormatProgram
    from xdsl.parser import Parser
    from xdsl.printer import Printer

T = TypeVar("T")
OperationT = TypeVar("OperationT", bound="IRDLOperation")

_COMPILE = "_create_fn"
"""By this function dataclasses make each method, up to Python 3.12; a later one makes them all."""

_one_at_a_time = RLock()


@contextmanager
def methods_put_off() -> Iterator[None]:
    """Dataclasses that a block imports for the first time are defined so."""
    with _one_at_a_time, _replaced(dataclasses, {_COMPILE: _late_method}):
        yield


@contextmanager
def put_off() -> Iterator[None]:
    """Operations, too."""
    with (
        methods_put_off(),
        _replaced(abc, {"ABC": _Abstract}),
        _replaced(functools, {"cached_property": _CachedProperty}),
    ):
        from xdsl import irdl
        from xdsl.irdl.declarative_assembly_format import FormatProgram

        with (
            _replaced(FormatProgram, {"from_str": staticmethod(_LateFormat)}),
            _replaced(irdl, {"irdl_op_definition": _late_operation}),
        ):
            yield


@contextmanager
def _replaced(owner: object, new: Mapping[str, object]) -> Iterator[None]:
    """Some of an object's attributes are others in a block; those that it has not stay away."""
    old = {name: vars(owner)[name] for name in new if name in vars(owner)}
    for name in old:
        setattr(owner, name, new[name])
    try:
        yield
    finally:
        for name, value in old.items():
            setattr(owner, name, value)


class _Unregistered(abc.ABCMeta):
    """The kind of abstract classes that have no subclasses but their own: whether an object is of
    one, Python tells by itself, in a tenth of the time. Who registers another with a class ends
    that for it, and for what it is derived from.
    """

    __instancecheck__ = type.__instancecheck__
    __subclasscheck__ = type.__subclasscheck__

    def register(cls, subclass: type[T]) -> type[T]:
        for kind in cls.__mro__:
            if type(kind) is _Unregistered and kind is not _Abstract:
                type.__setattr__(kind, "__class__", abc.ABCMeta)
        return cls.register(subclass)


class _Abstract(metaclass=_Unregistered):
    """In place of `abc.ABC`."""

    __slots__ = ()


class _CachedProperty(Generic[T]):
    """In place of `functools.cached_property`. What is made is an attribute from then on, which
    Python finds before it looks here.
    """

    def __init__(self, make: Callable[[Any], T]) -> None:
        self.func, self.__doc__ = make, make.__doc__
        self.attrname: str | None = None

    def __set_name__(self, owner: type, name: str) -> None:
        self.attrname = name

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None:
            return self
        made = instance.__dict__[self.attrname] = self.func(instance)
        return made


_compiled: Callable[..., FunctionType] | None = vars(dataclasses).get(_COMPILE)


def _late_method(name: str, *given: Any, **named: Any) -> Callable[..., Any]:
    """A method that makes itself when it is first called, and takes its place in the class."""
    made: FunctionType | None = None

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        nonlocal made
        if made is None:
            assert _compiled is not None
            keeping = _keeping(*given, **named) if name == "__init__" else None
            made = keeping or _compiled(name, *given, **named)
            made.__qualname__ = method.__qualname__
        for owner in type(self).__mro__:
            if vars(owner).get(name) is method:
                type.__setattr__(owner, name, made)
                break
        return made(self, *args, **kwargs)

    method.__name__ = name
    return method


def _keeping(
    args: Sequence[str], body: Sequence[str], *, globals: dict[str, Any], locals: Any, **named: Any
) -> FunctionType | None:
    """What dataclasses would compile of these texts, if it does nothing but keep what it is given.

    Such code is the same for all classes of as many fields, but for their names.
    """
    own, *fields = args
    # Each is `name:type` or `name:type=default`, the latter two by what they are called in locals.
    said = [(name, *rest.split("=")) for name, _, rest in (f.partition(":") for f in fields)]
    names = tuple([name for name, *_ in said])
    frozen = [f"__dataclass_builtins_object__.__setattr__(self,{n!r},{n})" for n in names]
    open_ = [f"self.{n}={n}" for n in names]
    kept, behind, asked = body[: len(names)], body[len(names) :], ["self.__post_init__()"]
    if own != "self" or kept not in (frozen, open_) or behind not in ([], ["pass"], asked):
        return None
    code, numbers = _keeping_code(len(names), kept == frozen, behind == asked)
    renamed = dict(zip(numbers, names, strict=True))
    made = FunctionType(
        code.replace(
            co_varnames=("self", *names),
            co_names=tuple([renamed.get(name, name) for name in code.co_names]),
            co_consts=tuple([renamed.get(held, held) for held in code.co_consts]),
        ),
        globals,
        "__init__",
        tuple([locals[default] for _, _, *defaults in said for default in defaults]),
    )
    made.__annotations__ = {**{name: locals[type] for name, type, *_ in said}, "return": None}
    return made


@functools.cache
def _keeping_code(fields: int, frozen: bool, asked: bool) -> tuple[CodeType, tuple[str, ...]]:
    """The code for so many fields, and what it calls them."""
    numbers = tuple([f"_{number}" for number in range(fields)])
    keep = "object.__setattr__(self, {0!r}, {0})" if frozen else "self.{0} = {0}"
    lines = [*map(keep.format, numbers), "self.__post_init__()" if asked else "pass"]
    made: dict[str, FunctionType] = {}
    exec(f"def __init__({', '.join(('self', *numbers))}):\n {'; '.join(lines)}", made)
    return made["__init__"].__code__, numbers


def _late_operation(kind: type[OperationT]) -> type[OperationT]:
    """What xDSL's `irdl_op_definition` makes, when the first operation is made, or is read."""
    from xdsl.irdl.operations import irdl_op_definition

    done = False

    def define() -> None:
        nonlocal done
        with put_off():
            if not done:
                if kind.assembly_format is not None:
                    del kind.parse  # xDSL takes no other beside the format
                irdl_op_definition(kind)
                done = True

    def get_irdl_definition(cls: type[IRDLOperation]) -> OpDef:
        define()
        return cls.get_irdl_definition()

    def parse(cls: type[OperationT], parser: Parser) -> OperationT:
        define()
        return cls.parse(parser)

    type.__setattr__(kind, "get_irdl_definition", classmethod(get_irdl_definition))
    if kind.assembly_format is not None:
        type.__setattr__(kind, "parse", classmethod(parse))
    return kind


class _LateFormat:
    """xDSL's FormatProgram, read from its text when an operation is first written or read."""

    def __init__(self, text: str, definition: OpDef) -> None:
        self._text, self._definition = text, definition

    @cached_property
    def _program(self) -> FormatProgram:
        from xdsl.irdl.declarative_assembly_format_parser import FormatParser

        return FormatParser(self._text, self._definition).parse_format()

    def parse(self, parser: Parser, kind: type[IRDLOperation]) -> IRDLOperation:
        return self._program.parse(parser, kind)

    def print(self, printer: Printer, op: IRDLOperation) -> None:
        self._program.print(printer, op)
