"""Classes defined while methods, formats and operations are put off: they do what others do."""

from __future__ import annotations

import abc
import dataclasses
import functools
import inspect
import subprocess
import sys
from dataclasses import FrozenInstanceError, dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from xdsl import irdl
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, IntegerAttr, IntegerType, ModuleOp, i64
from xdsl.dialects.test import Test
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    prop_def,
    result_def,
    var_operand_def,
)
from xdsl.irdl.declarative_assembly_format import FormatProgram
from xdsl.irdl.operations import PropertyAccessor
from xdsl.parser import Parser
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.test_value import create_ssa_value

from ncc.compiler.pipeline import stages
from ncc.compiler.process.definitions import put_off

PARAM = """7767517
3 3
Input    data  0 1 data 0=4 1=3 2=2
Sigmoid  first 1 1 data a
Pooling  last  1 1 a b 0=1 1=2 2=2
"""


def defined() -> SimpleNamespace:
    """Some dataclasses, defined now."""

    @dataclass(frozen=True, order=True)
    class Point:
        x: int
        y: int = 2

    @dataclass(frozen=True)
    class Named(Point):
        name: str = field(default="none", kw_only=True)

    @dataclass
    class Open:
        held: list[int] = field(default_factory=list)

    @dataclass
    class Range:
        low: int
        high: int = 9

        def __post_init__(self) -> None:
            self.low, self.high = sorted((self.low, self.high))

    @dataclass(frozen=True)
    class Odd:
        """Fields whose names others might use."""

        object: str
        _1: int = 1
        _0: int = 0

    @dataclass(frozen=True)
    class Empty: ...

    return SimpleNamespace(Point=Point, Named=Named, Open=Open, Range=Range, Odd=Odd, Empty=Empty)


def test_abstract_classes_do_what_others_do() -> None:
    """They are not made, know their subclasses, and those that are registered."""
    with put_off():

        class Shape(abc.ABC):
            @abc.abstractmethod
            def area(self) -> float: ...

        class Polygon(Shape):
            """Still without an area."""

    class Square(Polygon):
        def area(self) -> float:
            return 1.0

    class Round:
        def area(self) -> float:
            return 3.0

    with pytest.raises(TypeError, match="abstract"):
        Polygon()  # type: ignore[abstract]
    assert isinstance(Square(), Shape) and issubclass(Square, Polygon)
    assert not isinstance(Round(), Shape) and not issubclass(Round, Polygon)
    Polygon.register(Round)
    assert isinstance(Round(), Polygon) and isinstance(Round(), Shape)
    assert not isinstance(1.0, Shape) and isinstance(Square(), Shape)


def test_who_registers_a_class_leaves_others_alone() -> None:
    """Those are still told by Python itself, be they made before or behind that."""
    with put_off():

        class Shape(abc.ABC):
            @abc.abstractmethod
            def area(self) -> float: ...

        class Plane(Shape): ...

        class Registering(abc.ABC):
            @abc.abstractmethod
            def number(self) -> int: ...

        Registering.register(int)

        class Volume(Shape): ...

    assert isinstance(1, Registering) and type(Registering) is abc.ABCMeta
    assert all(type(kind) is not abc.ABCMeta for kind in (Shape, Plane, Volume))


def test_operations_are_told_by_python_itself() -> None:
    """Whatever is imported with them."""
    asked = (
        "from ncc.compiler.process.definitions import put_off\n"
        "with put_off(): import ncc.compiler.pipeline\n"
        "from abc import ABCMeta; from xdsl.ir import Operation\n"
        "print(type(Operation) is ABCMeta)"
    )
    found = subprocess.run(
        [sys.executable, "-c", asked], check=True, capture_output=True, text=True
    )
    assert found.stdout == "False\n"


def test_cached_properties_do_what_others_do() -> None:
    """Each is made when it is first read, and again where it was deleted."""
    with put_off():

        class Counting:
            made = 0

            @functools.cached_property
            def number(self) -> int:
                """How often it was made."""
                self.made += 1
                return self.made

    one, other = Counting(), Counting()
    assert vars(one) == {} and [one.number, one.number, other.number] == [1, 1, 1]
    del one.number
    assert one.number == 2 and vars(one) == {"made": 2, "number": 2}
    assert Counting.number.__doc__ == "How often it was made."
    assert not isinstance(vars(Counting)["number"], functools.cached_property)


def test_dataclasses_do_what_others_do() -> None:
    """Made, shown, compared, hashed and guarded alike, at the first call and at the next."""
    now = defined()
    with put_off():
        late = defined()

    def told(kinds: SimpleNamespace) -> list[Any]:
        point, named = kinds.Point(1), kinds.Named(1, 3, name="n")
        for frozen in (point, named):
            with pytest.raises(FrozenInstanceError):
                frozen.x = 2
            with pytest.raises(FrozenInstanceError):
                del frozen.x
        with pytest.raises(TypeError, match="missing 1 required positional argument: 'x'"):
            kinds.Point()
        assert kinds.Open().held is not kinds.Open().held
        return [
            repr(point), repr(named), repr(kinds.Open([1])), point == kinds.Point(1, 2),
            point == named, point < kinds.Point(2), hash(point) == hash(kinds.Point(1)),
            hash(named) == hash(kinds.Named(1, 3, name="n")), kinds.Open([1]) == kinds.Open([1]),
            repr(kinds.Range(10)), repr(kinds.Range(high=2, low=1)), repr(kinds.Odd("o", 5)),
            repr(kinds.Odd(_0=7, object="p")), repr(kinds.Empty()), kinds.Empty() == kinds.Empty(),
        ]  # fmt: skip

    assert told(late) == told(now) == told(late)
    for name, kind in vars(now).items():
        made = vars(late)[name].__init__
        assert inspect.signature(made) == inspect.signature(kind.__init__)
        assert made.__annotations__ == kind.__init__.__annotations__


@pytest.mark.skipif(
    sys.version_info >= (3, 13),
    reason="from Python 3.13 on a class has all its methods made at once",
)
def test_a_method_takes_its_place_when_it_is_called() -> None:
    """The class has the made one from then on; what was there before goes on working."""
    with put_off():
        late = defined()
    before = late.Point.__init__
    late.Named(1)
    late.Point(1)
    assert late.Point.__init__ is not before
    assert late.Point.__init__.__qualname__ == before.__qualname__
    before(point := late.Point(1), 5)
    assert point.x == 5


def test_nothing_is_put_off_behind_the_block() -> None:
    """Not even where what it imports fails."""
    before = dict(vars(dataclasses)), vars(FormatProgram)["from_str"], dict(vars(irdl))
    with pytest.raises(ImportError), put_off(), put_off():
        assert vars(FormatProgram)["from_str"] is not before[1]
        raise ImportError
    assert (vars(dataclasses), vars(FormatProgram)["from_str"], vars(irdl)) == before


def test_formats_are_read_when_they_are_used() -> None:
    """An operation is written by its format, and read back."""
    with put_off():

        @irdl_op_definition
        class CountOp(IRDLOperation):
            name = "late.count"
            number = prop_def(IntegerAttr)
            assembly_format = "`to` $number attr-dict"

    context = Context()
    context.load_dialect(Builtin)
    context.load_op(CountOp)
    module = ModuleOp([CountOp(properties={"number": IntegerAttr(3, i64)})])
    assert "late.count to 3 : i64" in str(module)
    assert str(Parser(context, str(module)).parse_module()) == str(module)


def late_operation() -> type[IRDLOperation]:
    """An operation whose definition is put off."""
    with put_off():

        @irdl.irdl_op_definition
        class SumOp(IRDLOperation):
            name = "late.sum"
            terms = var_operand_def(IntegerType)
            total = result_def(IntegerType)
            scale = prop_def(IntegerAttr)
            assembly_format = "$terms `by` $scale attr-dict `:` functional-type($terms, $total)"

    return SumOp


def test_an_operation_is_defined_when_the_first_is_made() -> None:
    """Its fields are accessors then, and it is verified, written and cloned as others are."""
    kind = late_operation()
    assert not isinstance(vars(kind)["scale"], PropertyAccessor)
    terms = create_ssa_value(i64), create_ssa_value(i64)
    one = kind.create(operands=terms, result_types=[i64], properties={"scale": IntegerAttr(3, i64)})
    assert isinstance(vars(kind)["scale"], PropertyAccessor)
    one.verify()
    assert tuple(one.terms) == terms  # type: ignore[attr-defined]
    assert one.scale.value.data == 3  # type: ignore[attr-defined]
    assert one.total is one.results[0]  # type: ignore[attr-defined]
    assert one.clone().is_structurally_equivalent(one)
    assert kind.get_irdl_definition() is one.get_irdl_definition()
    with pytest.raises(VerifyException):
        kind.create(operands=terms, result_types=[i64]).verify()


def test_an_operation_is_defined_when_it_is_read() -> None:
    """None has been made before."""
    context = Context()
    context.load_dialect(Builtin)
    context.load_op(late_operation())
    context.load_dialect(Test)
    text = """builtin.module {
  %a = "test.op"() : () -> i64
  %b = late.sum %a, %a by 3 : i64 : (i64, i64) -> i64
}"""
    assert str(Parser(context, text).parse_module()) == text


def test_levels_imported_so_write_the_same(tmp_path: Path) -> None:
    """Every level of a network, in a process that puts off all it can."""
    path = tmp_path / "net.param"
    path.write_text(PARAM)
    script = (
        "import sys; from ncc.compiler.process.definitions import put_off\n"
        "with put_off():\n"
        "    from ncc.compiler.pipeline import stages\n"
        "for name, stage in stages(sys.argv[1], target='avx2'):\n"
        "    if name not in ('param', 'obj'): print(stage)\n"
    )
    command = [sys.executable, "-c", script, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=600)
    texts = [
        str(stage) + "\n"
        for name, stage in stages(path, target="avx2")
        if name not in ("param", "obj")
    ]
    assert done.stdout == "".join(texts)
