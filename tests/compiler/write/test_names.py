"""Names for a file: wishes in their order, and what is made up where there is none."""

from __future__ import annotations

import pytest

from ncc.compiler.diagnostics import Unsupported
from ncc.compiler.write.names import Names, check_name
from ncc.dialects.ncnn.file_format import LONGEST_NAME


def test_the_first_who_wishes_has_it() -> None:
    """A later one gets a number, and no number that somebody wishes for."""
    names = Names(["conv", "conv_1", "conv"])
    wishes = ["conv", "conv", "conv_1", "conv"]
    assert [names.named(wish, "layer") for wish in wishes] == ["conv", "conv_2", "conv_1", "conv_3"]


def test_who_wishes_for_nothing_gets_a_new_name() -> None:
    """Of the stem, which is free until it is taken, wished for, or reserved."""
    names = Names(["layer_1"], reserved=["layer"])
    assert [names.named("", "layer") for _ in range(2)] == ["layer_2", "layer_3"]
    assert names.named("layer_1", "layer") == "layer_1"
    assert names.named("layer", "other") == "layer_4"


@pytest.mark.parametrize("letter", ["a", "ä", "猫"])
def test_numbered_names_are_no_longer_than_a_file_holds(letter: str) -> None:
    """Whole characters are left out, however many bytes each has."""
    longest = letter * (LONGEST_NAME // len(letter.encode()))
    names = Names([longest])
    assert names.named(longest, "layer") == longest
    made = names.named(longest, "layer")
    assert made.endswith("_1") and made.removesuffix("_1") in longest
    assert LONGEST_NAME - 4 < len(made.encode()) <= LONGEST_NAME


@pytest.mark.parametrize("name", ["two words", "0=7", "-23300=1", "a\nb", "x" * (LONGEST_NAME + 1)])
def test_what_would_not_be_read_back_is_no_name(name: str) -> None:
    """The caller's is refused; a layer gets one that is like it."""
    with pytest.raises(Unsupported, match="as a name in a .param file"):
        check_name(name)
    made = Names([name]).named(name, "layer")
    check_name(made)
    assert made in ("two_words", "_0=7", "_-23300=1", "a_b", "x" * LONGEST_NAME)


@pytest.mark.parametrize("name", ["x" * LONGEST_NAME, "a=7", "conv/[1]", "猫"])
def test_what_would_be_read_back_is_one(name: str) -> None:
    """An equals sign means a param only behind a number."""
    check_name(name)
    assert Names([name]).named(name, "layer") == name
