"""Features that Linux tells a program."""

from __future__ import annotations

import pytest

from ncc.runtime import cpu, hardware_capabilities


@pytest.mark.parametrize(
    ("machine", "words", "target"),
    [
        ("aarch64", {16: 1 << 1, 26: 0}, "neon"),
        ("aarch64", {16: 1 << 1 | 1 << 20, 26: 0}, "neondot"),
        ("aarch64", {16: 1 << 1 | 1 << 20, 26: 1 << 13}, "neoni8mm"),
        ("aarch64", {16: 1 << 2, 26: 0}, None),
        ("riscv64", {16: 1 << 21 | 1 << 2}, "rvv"),
        ("riscv64", {16: 1 << 2}, None),
        ("s390x", {}, None),
    ],
)
def test_bits_are_features(
    machine: str, words: dict[int, int], target: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They lead to the widest target of the machine."""
    monkeypatch.setattr(hardware_capabilities, "auxiliary_word", words.__getitem__)
    found = hardware_capabilities.features_of(machine)
    monkeypatch.setattr(cpu, "features", lambda: found)
    assert cpu.widest_target() == target


def test_features_are_words_and_bits() -> None:
    """As code asks for them that is no Python; unknown names have none."""
    words = hardware_capabilities.words_of
    assert words("aarch64", ["asimd", "asimddp", "i8mm"]) == {16: 1 << 1 | 1 << 20, 26: 1 << 13}
    assert words("aarch64", ["magic"]) == words("x86_64", ["asimd"]) == {}


def test_the_vector_can_be_asked_here() -> None:
    """AT_PAGESZ is 6; no system has word 4000."""
    assert (
        hardware_capabilities.auxiliary_word(6) % 4096
        == 0
        < hardware_capabilities.auxiliary_word(6)
    )
    assert hardware_capabilities.auxiliary_word(4000) == 0
