"""Texts that name values in every process alike."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import pytest
from xdsl.dialects.arith import FastMathFlagsAttr
from xdsl.dialects.builtin import FloatAttr, IntegerAttr, MemRefType, f32, f64, i32, i64
from xdsl.ir import Attribute, Region

from ncc.compiler.diagnostics import CompilerBug
from ncc.compiler.loops.kernel.stable_text import digest, region_text, stable_text
from ncc.dialects.statements import Code, MemoryView


@dataclass(frozen=True)
class Pair:
    first: object
    second: object


class NamedPair(NamedTuple):
    first: object
    second: object


class Size(NamedTuple):
    height: object
    width: object


DIFFERENT = [
    None, True, False, 0, 1, -1, 0.0, -0.0, 1.0, 0.1, float("inf"), float("nan"),
    1.4e-45, "", "1", "a,b", b"a", (), (1,), ((1,),), (1, 2), ((1, 2),), ("a", "b"), ("a,b",),
    frozenset({1}), frozenset({1, 2}), {1: 2}, {2: 1}, Pair(1, 2), Pair(2, 1), Pair((1, 2), None),
    NamedPair(1, 2), NamedPair(2, 1), Size(1, 2),
    f32, f64, FloatAttr(0.0, f32), FloatAttr(-0.0, f32), FloatAttr(0.0, f64),
    FloatAttr(1.0000001, f32), FloatAttr(1.0, f32), IntegerAttr(1, i32), IntegerAttr(1, i64),
    MemRefType(f32, [2, 3]), MemRefType(f32, [6]), MemRefType(f64, [6]),
]  # fmt: skip


def test_different_values_have_different_texts() -> None:
    """Also where Python calls them equal: 0.0 and -0.0, True and 1."""
    texts = [stable_text(value) for value in DIFFERENT]
    assert len(set(texts)) == len(DIFFERENT)
    assert len({digest(text) for text in texts}) == len(DIFFERENT)


def filled(write: Callable[[Code, MemoryView], None], kind: Attribute = f32) -> Region:
    """The region of a code that writes to eight cells."""
    code = Code([], [((8,), kind)])
    write(code, code.results[0])
    return code.operation().body


def looped(code: Code, y: MemoryView, inside: bool) -> None:
    """A second statement in a loop, or behind it."""
    with code.range(4) as i:
        y[i] = 1.0
        if inside:
            y[0] = 2.0
    if not inside:
        y[0] = 2.0


CODES: dict[str, Callable[[Code, MemoryView], None]] = {
    "nothing": lambda code, y: None,
    "number": lambda code, y: y.__setitem__(0, 1.0),
    "another number": lambda code, y: y.__setitem__(0, 2.0),
    "another place": lambda code, y: y.__setitem__(1, 1.0),
    "difference": lambda code, y: y.__setitem__(0, y[1] - y[2]),
    "turned round": lambda code, y: y.__setitem__(0, y[2] - y[1]),
    "sum": lambda code, y: y.__setitem__(0, y[1] + y[2]),
    "inside": lambda code, y: looped(code, y, inside=True),
    "outside": lambda code, y: looped(code, y, inside=False),
}


def test_regions_that_differ_have_different_texts() -> None:
    """In an operation, an operand, a number, a type, or in what stands inside of a loop."""
    texts = {name: region_text(filled(write)) for name, write in CODES.items()}
    texts["type"] = region_text(filled(CODES["nothing"], i32))
    assert len(set(texts.values())) == len(texts)
    for name, write in CODES.items():
        assert region_text(filled(write)) == region_text(filled(write).clone()) == texts[name]


def test_equal_values_have_one_text() -> None:
    """Whatever order a set or a mapping was filled in."""
    assert stable_text(frozenset(range(99))) == stable_text(frozenset(reversed(range(99))))
    assert stable_text({"a": 1, "b": 2}) == stable_text({"b": 2, "a": 1})
    assert stable_text(MemRefType(f32, [2])) == stable_text(MemRefType(f32, [2]))


def test_text_does_not_depend_on_the_process() -> None:
    """Strings are hashed in another way by every process, and sets of flags hold strings."""
    code = (
        "from xdsl.dialects.arith import FastMathFlagsAttr as F\n"
        "from ncc.compiler.loops.kernel.stable_text import stable_text as t\n"
        "print(t((F('fast'), frozenset('abcdefgh'))))"
    )
    expected = stable_text((FastMathFlagsAttr("fast"), frozenset("abcdefgh")))
    for seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        found = subprocess.check_output([sys.executable, "-c", code], env=environment, text=True)
        assert found.strip() == expected


def test_values_without_a_text_are_refused() -> None:
    """What would only show its address must not become part of a key."""
    with pytest.raises(CompilerBug, match="a object in the key"):
        stable_text((1, object()))
