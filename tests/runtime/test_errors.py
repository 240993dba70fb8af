"""Errors of a loaded model: what they say of names, of what came, and of packages."""

from __future__ import annotations

import pytest

from ncc.runtime.errors import (
    MOST_NAMED,
    ArtifactError,
    InputError,
    NccError,
    did_you_mean,
    needing_packages,
)


def test_did_you_mean_ignores_case_and_rejects_the_far() -> None:
    """Near words are proposed in their own spelling, far ones are not."""
    assert did_you_mean("convolutoin", ["Pooling", "Convolution"]) == "Convolution"
    assert did_you_mean("DATA", ["data", "Data"]) == "data"
    assert did_you_mean("xyz", ["Pooling", "Convolution"]) is None
    assert did_you_mean("prob", []) is None


def test_an_input_error_says_what_is_known() -> None:
    """What was found only beside what was expected."""
    assert str(InputError("a", "x")) == "a"
    assert str(InputError("a", "x", "b")) == "a: expected b"
    assert str(InputError("a", "x", "b", "c", "d")) == "a: expected b, found c; did you mean 'd'?"
    assert str(InputError("a", "x", None, "c")) == "a"


def test_an_unknown_name_lists_the_known() -> None:
    """The nearest one is proposed; of many names a dozen are listed."""
    wrong = InputError.unknown_name("output", "prb", ["data", "prob"])
    assert str(wrong) == (
        "the model has no output 'prb': expected 'data' or 'prob'; did you mean 'prob'?"
    )
    assert (wrong.blob, wrong.suggestion) == ("prb", "prob")
    assert str(InputError.unknown_name("input", "x", [])).endswith("expected no input at all")
    many = str(InputError.unknown_name("input", "x", iter(f"blob{n}" for n in range(15))))
    assert many.count("'blob") == MOST_NAMED and many.endswith(" or 3 more")


def test_features_that_are_missing_are_in_order() -> None:
    """Two machines that lack the same give the same error."""
    assert ArtifactError("a", {"b", "a", "c"}).missing_features == ("a", "b", "c")
    assert str(ArtifactError("what", ["a"])) == "what"


def test_a_package_that_is_not_installed_is_named() -> None:
    """With what needs it; a module of ncc that is missing is no package to install."""
    with pytest.raises(NccError, match="^compiling needs click, which is not installed") as raised:
        with needing_packages("compiling"):
            raise ModuleNotFoundError("no click", name="click.core")
    assert isinstance(raised.value.__cause__, ModuleNotFoundError)
    with pytest.raises(ModuleNotFoundError), needing_packages("compiling"):
        raise ModuleNotFoundError("no module", name="ncc.nothing")
