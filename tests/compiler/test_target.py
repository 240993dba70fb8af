"""Targets are found by name, and this machine gets the widest it can run."""

import pytest

from ncc.compiler.diagnostics import Unsupported
from ncc.compiler.target import TARGETS, Target
from ncc.runtime import cpu


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_found_by_name(target: Target) -> None:
    """A target's name leads to it."""
    assert Target.of(target.name) is target


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_host_is_the_widest_supported(target: Target, monkeypatch: pytest.MonkeyPatch) -> None:
    """A CPU with just the features of a target gets that target."""
    monkeypatch.setattr(cpu, "features", lambda: target.features | {"sse2"})
    assert Target.of("host") is target


def test_unknown_name_lists_the_known() -> None:
    """An unknown name is refused with the names that there are."""
    with pytest.raises(Unsupported, match="host, avx512vnni, avx512, avx2, baseline"):
        Target.of("neon")
