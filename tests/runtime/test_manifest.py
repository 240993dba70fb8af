"""Fields of a manifest: each has the type and range that it is asked for with, or is refused."""

from __future__ import annotations

import pytest

from ncc.runtime.errors import ArtifactError
from ncc.runtime.manifest import MOST_BYTES, Fields


def fields(**values: object) -> Fields:
    """An object of these fields."""
    return Fields(values, ArtifactError)


def test_fields_are_what_they_are_asked_for_as() -> None:
    """Numbers, texts, flags, objects, and lists of them."""
    found = fields(n=3, s="a", f=False, o={"b": [1]}, ns=[0, 2], ss=["a", "b"], os=[{"n": 7}])
    assert (found.number("n"), found.text("s"), found.flag("f")) == (3, "a", False)
    assert (found.numbers("ns"), found.texts("ss")) == ((0, 2), ["a", "b"])
    assert found.mapping("o") == {"b": [1]}
    assert [one.number("n") for one in found.objects("os")] == [7]


@pytest.mark.parametrize(
    ("method", "wrong", "why"),
    [
        ("number", [True, 1.0, "1", None], "is not a number"),
        ("number", [-1, MOST_BYTES], "is out of range"),
        ("numbers", [1, "1", None], "is not a list"),
        ("numbers", [[True], [1.0], [1, "1"]], "is not a list of numbers"),
        ("numbers", [[-1], [0, MOST_BYTES]], "is out of range"),
        ("text", [1, None, ["a"]], "is not a text"),
        ("texts", ["a", None], "is not a list"),
        ("texts", [[1], ["a", None]], "is not a list of texts"),
        ("flag", [0, 1, "true", None], "is not true or false"),
        ("mapping", [[], "{}", None], "is not an object"),
        ("objects", [{}, None], "is not a list"),
        ("objects", [[1], [{}, []]], "is not a list of objects"),
    ],
)
def test_whatever_else_it_is_is_refused(method: str, wrong: list[object], why: str) -> None:
    """JSON's true is no number, 1 is not true, and what is missing is nothing at all."""
    for value in wrong:
        with pytest.raises(ArtifactError, match=f"^x in the manifest {why}$"):
            getattr(fields(x=value), method)("x")
    with pytest.raises(ArtifactError, match="^x in the manifest is not"):
        getattr(fields(), method)("x")


def test_the_least_number_may_be_another() -> None:
    """-1 says "none" in some fields; the largest that can be addressed is a size."""
    assert fields(x=-1).number("x", -1) == -1
    assert fields(x=MOST_BYTES - 1).number("x") == MOST_BYTES - 1
    with pytest.raises(ArtifactError, match="out of range"):
        fields(x=0).number("x", 1)


@pytest.mark.parametrize("value", [None, [], "text", 1])
def test_a_manifest_that_is_no_object_is_refused(value: object) -> None:
    """As one that somebody else wrote may be."""
    with pytest.raises(ArtifactError, match="not an object"):
        Fields(value, ArtifactError)


def test_parts_are_broken_as_the_whole_is() -> None:
    """The error of an object in a list names the same file."""
    whole = Fields({"os": [{}]}, lambda why: ArtifactError(f"net.ncc: {why}"))
    with pytest.raises(ArtifactError, match=r"^net\.ncc: x in"):
        whole.objects("os")[0].text("x")
