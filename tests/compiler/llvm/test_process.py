"""LLVM in a process of its own."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from ncc.compiler.diagnostics import CompilerBug
from ncc.compiler.llvm.object_code import emit_object
from ncc.compiler.llvm.process import LlvmProcess
from ncc.compiler.llvm.threads import threads_text
from ncc.compiler.target import AVX2, AVX512

TEXT = "define float @f(float %x) { %y = fadd float %x, %x\n ret float %y }"


def test_objects_are_those_of_this_process() -> None:
    """Bit by bit, for any target and effort; after an error, too."""
    with LlvmProcess() as llvm:
        for text, target, effort in (
            (threads_text(), AVX512, 2),
            (TEXT, AVX2, 0),
            (TEXT, AVX2, 2),
        ):
            assert llvm.emit_object(text, target, effort) == emit_object(text, target, effort)
        refused = "define void @f() { ret i32 0 }"
        with pytest.raises(CompilerBug, match="LLVM refuses the text") as caught:
            llvm.emit_object(refused, AVX2)
        assert caught.value.dump == refused
        assert llvm.emit_object(TEXT, AVX2) == emit_object(TEXT, AVX2)


def test_the_end_of_the_process_is_a_bug_with_the_text(capfd: pytest.CaptureFixture[str]) -> None:
    """LLVM does not refuse all that it cannot do: an instruction that AVX2 lacks is its end."""
    text = """
    declare void @llvm.x86.tilezero(i8)
    define void @f() { call void @llvm.x86.tilezero(i8 1)\n ret void }"""
    with LlvmProcess() as llvm:
        for _ in range(2):
            with pytest.raises(CompilerBug, match="LLVM ended with -6") as caught:
                llvm.emit_object(text, AVX2)
            assert caught.value.dump == text
    assert "Cannot select" in capfd.readouterr().err


def test_it_ends_with_the_block() -> None:
    """Nothing is left behind."""
    before = children()
    with LlvmProcess():
        assert len(children()) == len(before) + 1
    assert children() == before


def children() -> list[str]:
    """The processes that this one has started."""
    path = Path("/proc/self/task", str(threading.get_native_id()), "children")
    return path.read_text().split()
