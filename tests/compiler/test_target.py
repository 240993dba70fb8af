"""Targets are found by name, and this machine gets the widest it can run."""

from dataclasses import replace

import pytest

from ncc.compiler.diagnostics import Unsupported
from ncc.compiler.target import AVX2, AVX512, TARGETS, Target
from ncc.runtime import cpu


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_found_by_name(target: Target) -> None:
    """A target's name leads to it."""
    assert Target.of(target.name) is target


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_host_is_the_widest_supported(target: Target, monkeypatch: pytest.MonkeyPatch) -> None:
    """A CPU with just the features of a target gets that target, for the core at hand."""
    monkeypatch.setattr(cpu, "features", lambda: target.features | {"sse2"})
    assert replace(Target.of("host"), core=target.core) == target


@pytest.mark.parametrize("units", [1, 2])
def test_the_core_at_hand_is_asked(units: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its caches and how much it multiplies are what choices for "host" are made by."""
    monkeypatch.setattr(cpu, "features", lambda: AVX512.features)
    monkeypatch.setattr(cpu, "wide_multiply_adders", lambda: units)
    monkeypatch.setattr(cpu, "l1_bytes", lambda: 40 << 10)
    monkeypatch.setattr(cpu, "l2_bytes", lambda: 3 << 20)
    core = Target.of("host").core
    assert (core.multiply_adds, core.l1_bytes, core.l2_bytes) == (units, 40 << 10, 3 << 20)
    monkeypatch.setattr(cpu, "features", lambda: AVX2.features)
    assert Target.of("host").core.multiply_adds == 2


def test_unknown_name_lists_the_known() -> None:
    """An unknown name is refused with the names that there are."""
    with pytest.raises(Unsupported, match="host, avx512vnni, avx512, avx2, baseline"):
        Target.of("neon")
