"""Options are checked where they are made."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from inspect import signature
from typing import Any

import numpy as np
import pytest

from ncc.compiler.diagnostics import Unsupported
from ncc.compiler.options import OPT_LEVELS, Options
from ncc.compiler.target import AVX2
from ncc.runtime.errors import InputError


def test_names_and_sequences_become_what_the_compiler_reads() -> None:
    """The target by its name, shapes and outputs as tuples."""
    options = Options.of(target="avx2", input_shapes={"data": [3, 8, 8]}, outputs=["a", "b"])
    assert options.target is AVX2
    assert options.input_shapes == {"data": (3, 8, 8)}
    assert options.outputs == ("a", "b")


def test_one_output_is_a_string_and_numbers_are_whole() -> None:
    """As `run` takes them, and as numpy counts."""
    two: Any = np.int64(2)
    options = Options.of(outputs="prob", num_threads=two, random_weights=3)
    assert options.outputs == ("prob",)
    assert (options.num_threads, options.random_weights) == (2, 3)


def test_nothing_asked_is_the_default() -> None:
    """-O2 in fp32 on one thread, for the CPU at hand."""
    options = Options.of()
    assert options == Options() and Options.of(target="host") == options
    assert (options.opt_level, options.num_threads, options.precision) == (2, 1, "fp32")


def test_options_do_not_change() -> None:
    """A compilation can be asked later what it was asked."""
    with pytest.raises(dataclasses.FrozenInstanceError):
        Options().opt_level = 3  # type: ignore[misc]


@pytest.mark.parametrize(
    ("wrong", "error", "said"),
    [
        ({"opt_level": 4}, InputError, "expected 0 to 3, found 4"),
        ({"opt_level": -1}, InputError, "optimization level"),
        ({"num_threads": 0}, InputError, "expected 1 or more, found 0"),
        ({"precision": "bf16"}, Unsupported, "'bf16'"),
        ({"target": "sparc"}, Unsupported, "avx2"),
        ({"input_shapes": {"data": (3, -1)}}, InputError, "positive extents"),
        ({"opt_level": "2"}, InputError, "expected 0 to 3, found '2'"),
        ({"num_threads": 1.5}, InputError, "expected 1 or more, found 1.5"),
        ({"input_shapes": [("data", (1,))]}, InputError, "expected a dict"),
        ({"input_types": "int8"}, InputError, "expected a dict"),
        ({"input_shapes": {"data": "3x8x8"}}, InputError, "for open ones, found '3x8x8'"),
        ({"input_shapes": {0: (3, 8, 8)}}, InputError, "strings as keys"),
        ({"outputs": [3]}, InputError, "expected strings, found \\[3\\]"),
        ({"outputs": 3}, InputError, "expected strings"),
        ({"random_weights": -1}, InputError, "expected 0 or more, found -1"),
        ({"random_weights": "one"}, InputError, "expected 0 or more, found 'one'"),
    ],
)
def test_values_out_of_range_are_refused(
    wrong: dict[str, Any], error: type[Exception], said: str
) -> None:
    """With what was expected and what came."""
    with pytest.raises(error, match=said):
        Options.of(**wrong)


@pytest.mark.parametrize("name", [field.name for field in dataclasses.fields(Options)])
def test_no_option_is_of_any_type(name: str) -> None:
    """Whoever makes them: an error of ncc, not of Python, says so."""
    wrong: Any
    makers: list[Callable[..., Options]] = [Options]
    if name in signature(Options.of).parameters:
        makers.append(Options.of)
    for wrong in (object(), b"2", [1.5], 2.5):
        for make in makers:
            with pytest.raises((InputError, Unsupported)):
                make(**{name: wrong})


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"num_threads": "2"}, "expected 1 or more, found '2'"),
        ({"input_shapes": None}, "expected a dict"),
        ({"target": "avx2"}, "expected a Target"),
        ({"outputs": ["a"]}, "expected a tuple"),
        ({"tuned": "no"}, "tuned is on or off: expected True or False, found 'no'"),
        ({"input_types": {"data": []}}, "no element type for input 'data'"),
    ],
)
def test_options_are_checked_where_they_are_made(wrong: dict[str, Any], said: str) -> None:
    """By the constructor as well."""
    with pytest.raises(InputError, match=said):
        Options(**wrong)


def test_every_level_says_what_it_promises() -> None:
    """0 to 3, a sentence each."""
    assert list(OPT_LEVELS) == [0, 1, 2, 3] and all(OPT_LEVELS.values())


@pytest.mark.parametrize("shape", [224, None, "3x4", (3, "4"), (1.5,)])
def test_what_is_no_shape_is_refused_by_name(shape: Any) -> None:
    """Not by whatever Python would say of it."""
    with pytest.raises(InputError, match="no shape for input 'data': expected positive"):
        Options.of(input_shapes={"data": shape})


def test_extents_may_be_left_open() -> None:
    """None stands for an extent that calls settle; integers of numpy are integers."""
    extents: Any = [np.int64(3), None, None]
    options = Options.of(input_shapes={"data": extents})
    assert options.input_shapes == {"data": (3, None, None)}


def test_an_open_extent_may_have_a_range() -> None:
    """The least and the most, in any sequence; a range of one number is still open."""
    ranged: dict[str, Any] = {"x": (3, (64, np.int64(1024)), None), "y": [[8, None], 4]}
    options = Options.of(input_shapes=ranged)
    assert options.input_shapes == {"x": (3, None, None), "y": (None, 4)}
    assert options.ranges == {"x": ((1, None), (64, 1024), (1, None)), "y": ((8, None), (1, None))}
    assert Options.of(input_shapes={"x": (3, None, None)}).ranges == {}


@pytest.mark.parametrize("extent", [2**31, 10**20, (1, 10**20), (10**20, None)])
def test_a_shape_that_is_too_large_is_refused_by_name(extent: Any) -> None:
    """With the largest extent."""
    with pytest.raises(InputError, match="'x' is too large: expected extents up to 2,147,483,647"):
        Options.of(input_shapes={"x": (3, extent)})


@pytest.mark.parametrize(
    "range", [(-1, 4), (0, 0), (8, 4), (1, 2, 3), (), ("a", 4), (1.5, 4), (None, 4)]
)
def test_what_is_no_range_is_refused_by_name(range: Any) -> None:
    """Also where options are made by hand."""
    wanted = r"no range for an extent of input 'x': expected \(least, most\)"
    with pytest.raises(InputError, match=wanted):
        Options.of(input_shapes={"x": (3, range)})
    with pytest.raises(InputError, match=wanted):
        Options(input_shapes={"x": (3, None)}, ranges={"x": ((1, None), (5, 4))})
