"""Names of networks and blobs in C."""

from __future__ import annotations

import pytest

from ncc.compiler.library.signature import (
    FUNCTIONS,
    Argument,
    distinct,
    identifier,
    name_like,
    name_of,
)
from ncc.runtime.artifact import Binding
from ncc.runtime.errors import InputError


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("squeezenet_v1.1", "squeezenet_v1_1"),
        ("yolo-fastestv2", "yolo_fastestv2"),
        ("3d", "n3d"),
        ("", "n"),
        ("/model/head/out", "model_head_out"),
        ("_hidden__name_", "hidden_name"),
        ("größe", "gr_e"),
        ("float", "float_"),
        ("class", "class_"),
        ("ncc", "ncc_"),
    ],
)
def test_identifiers(text: str, expected: str) -> None:
    """Any text becomes a name of C and C++, which is no word of theirs and not reserved."""
    assert identifier(text) == expected


def test_a_name_that_a_user_gives() -> None:
    """It is taken as it is, or refused with one that would do."""
    assert name_of("face_detector") == "face_detector"
    for wrong in ("face-detector", "3d", "", "_x", "while", "open", "string", "pthread", "x_"):
        with pytest.raises(InputError, match=f"leave free, like {name_like(wrong)}, found"):
            name_of(wrong)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("yolo-fastestv2", "yolo_fastestv2"),
        ("while", "while_net"),  # a word
        ("read", "read_net"),  # a function
        ("features", "features_net"),  # features.h
        ("m", "m_net"),  # libm.so
        ("sem", "sem_net"),  # sem_init and sem_destroy
        ("pthread", "net_pthread"),  # all names that begin with pthread_
        ("mq-x", "net_mq_x"),
        ("std", "std_net"),  # a namespace
    ],
)
def test_names_that_are_taken(text: str, expected: str) -> None:
    """No library has such a name, or functions whose names begin so."""
    assert name_like(text) == expected
    assert name_of(expected) == expected


def test_no_two_names_are_alike() -> None:
    """Not in upper case either, in which constants are."""
    found = distinct(["a/b", "a.b", "A_b", "a_b_2", "run"], FUNCTIONS)
    assert found == ["a_b", "a_b_2", "A_b_3", "a_b_2_2", "run_2"]


def test_elements_of_what_is_open() -> None:
    """A product of the extents of a call and of the others."""
    cache = Argument("cache", Binding("cache", (8, -1, 64)), ["(sizes)->cache_h"])
    assert cache.elements == "(512 * (size_t)(sizes)->cache_h)"
    assert Argument("out", Binding("out", (2, 3), dynamic=True)).elements == "6"
