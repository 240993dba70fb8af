"""LLVM by few of its functions: what it refuses, and that nothing else is imported for it."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ncc.compiler.llvm.library import LlvmLibrary, Refused
from ncc.compiler.llvm.object_code import emit_object
from ncc.compiler.target import AVX2

TEXT = "define i32 @twice(i32 %x) {\n  %y = add i32 %x, %x\n  ret i32 %y\n}"


DIGITS = Path(__file__).parents[3] / "examples" / "digits" / "digits.param"

LOAD = "from ncc.compiler.llvm.library import LlvmLibrary; LlvmLibrary()"
COMPILE = f"import ncc; ncc.compile({str(DIGITS)!r})"


@pytest.fixture(scope="module")
def llvm() -> LlvmLibrary:
    """The library, with the code generators that this process already has."""
    emit_object(TEXT, AVX2)
    return LlvmLibrary()


def test_text_becomes_code(llvm: LlvmLibrary) -> None:
    """An object or assembly, of any number of modules after one another."""
    machine = llvm.machine(AVX2.triple, "x86-64-v3", "", 2)
    layout = llvm.data_layout(machine)
    assert layout.startswith("e-")
    for _ in range(3):
        with llvm.module(TEXT, AVX2.triple, layout) as module:
            llvm.inline(module, machine)
            assert b"twice:" in llvm.code(module, machine, as_object=False)
            assert llvm.code(module, machine).startswith(b"\x7fELF")


def test_a_system_without_proc(tmp_path: Path) -> None:
    """Its code stays in memory."""
    LlvmLibrary(maps=tmp_path / "maps").unmap_code()


def test_memory_that_is_short_is_named() -> None:
    """What the system says of a library that does not fit tells nobody."""
    text = f"import resource as r; r.setrlimit(r.RLIMIT_AS, (100 << 20, r.RLIM_INFINITY)); {LOAD}"
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True)
    *_, last = done.stderr.splitlines()
    assert last.startswith("ncc.runtime.errors.NccError: there is not enough memory for LLVM")


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("define i32 @f() { ret float 0.0 }", "value doesn't match function result type"),
        ("define i32 @f(i1 %c) {\n  br i1 %c, label %a, label %b\na:\n  %x = add i32 1, 1\n"
         "  br label %b\nb:\n  ret i32 %x\n}", "does not dominate"),
    ],
)  # fmt: skip
def test_it_says_what_it_refuses(llvm: LlvmLibrary, text: str, what: str) -> None:
    """The parser does, and the verifier; the next text is taken."""
    layout = llvm.data_layout(llvm.machine(AVX2.triple, "x86-64", "", 0))
    with pytest.raises(Refused, match=what), llvm.module(text, AVX2.triple, layout):
        pass
    with llvm.module(TEXT, AVX2.triple, layout):
        pass


def test_an_architecture_that_is_none_is_refused(llvm: LlvmLibrary) -> None:
    """By LLVM's words."""
    with pytest.raises(Refused, match="abacus"):
        llvm.machine("abacus-unknown-linux", "", "", 2)


@pytest.mark.parametrize("done", [LOAD, pytest.param(COMPILE, marks=pytest.mark.slow)])
def test_code_that_was_called_is_not_held_in_memory(
    done: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To load LLVM walks 24 MB of it once, to compile as much."""
    monkeypatch.setenv("NCC_CACHE", "off")
    script = f"""
from pathlib import Path
{done}
maps = Path("/proc/self/smaps").read_text().split("VmFlags")
code = [text for text in maps if "libllvmlite" in text and " r-xp " in text]
print(len(code), *(text.split("Rss:")[1].split()[0] for text in code))
"""
    told = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    count, *kilobytes = map(int, told.stdout.split())
    assert count == 1
    assert kilobytes[0] < 2048


def test_threads_take_turns() -> None:
    """Those of a process that compiles several networks get what one alone gets."""
    with ThreadPoolExecutor(4) as pool:
        made = set(pool.map(lambda _: emit_object(TEXT, AVX2), range(16)))
    assert len(made) == 1


def test_little_is_imported_for_it() -> None:
    """Not what llvmlite has for those who build IR."""
    code = (
        "import sys; from ncc.compiler.llvm.library import LlvmLibrary; LlvmLibrary()\n"
        "print(*(name for name in ('llvmlite.binding', 'llvmlite.ir') if name in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == ""
