"""Whether a processor has what the code needs."""

from __future__ import annotations

import ctypes
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from ncc.compiler.library.machine import X86_64
from ncc.compiler.library.processor import processor_text
from ncc.compiler.library.signature import FUNCTIONS
from ncc.compiler.llvm.object_code import emit_object
from ncc.compiler.target import BASELINE
from ncc.runtime import cpu
from ncc.runtime.errors import ArtifactError
from ncc.runtime.machine_code import MachineCode
from tests.c_programs import STATIC, Library, Loaded, needs_cc, run
from tests.compiler.library.small_networks import compiled

ASK = '#include "net.h"\nint main(void) { return net_create(NULL, 1) ? 2 : net_supported(); }\n'


@pytest.mark.parametrize("target", cpu.TARGETS)
def test_it_says_what_the_runtime_says(target: str, tmp_path: Path) -> None:
    """A library asks the same of the processor as a process of Python does."""
    if not cpu.TARGETS[target] <= cpu.TARGETS["amx"]:
        pytest.skip("the target is of another processor")
    features = cpu.TARGETS[target]
    Library(replace(compiled("plain").artifact, features=features), tmp_path)
    expected = features <= cpu.features() and ("amx_tile" not in features or cpu.allow_tiles())
    assert Loaded(tmp_path).call("supported") == expected


@needs_cc
@pytest.mark.slow
@pytest.mark.skipif(shutil.which("valgrind") is None, reason="there is no valgrind")
def test_a_processor_that_lacks_instructions(tmp_path: Path) -> None:
    """No network is made on it, and none of the instructions is used. (valgrind has no AVX-512.)"""
    library = Library(compiled("plain", "avx512").artifact, tmp_path)
    main = library.program(ASK.replace("NULL", "(void *)0"), STATIC)
    ended = run(["valgrind", "--quiet", "--error-exitcode=80", main])
    assert ended.returncode == 0 and not ended.stderr, ended.stderr


def test_the_system_is_asked_for_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    """A processor with tiles is supported if Linux allows them, and else not."""
    monkeypatch.setattr(cpu, "words_of", lambda _: [(1, 0, 3, 1 << 26)])  # sse2
    monkeypatch.setattr(cpu, "saved_state_of", lambda _: 0)
    text = processor_text(X86_64, frozenset({"amx_tile"}), {"supported": "supported"})
    code = MachineCode([emit_object(text, BASELINE)])
    request = map(ctypes.c_long, cpu.TILES_REQUEST)
    allowed = ctypes.CDLL(None).syscall(*request) == 0
    assert ctypes.CFUNCTYPE(ctypes.c_int)(code.address("supported"))() == allowed


def test_a_feature_that_is_not_known() -> None:
    """A library never takes a processor for able to run what it cannot ask it about."""
    with pytest.raises(ArtifactError, match="needs avx1024,"):
        processor_text(X86_64, frozenset({"sse2", "avx1024"}), {"supported": "supported"})


def test_every_feature_is_asked_for() -> None:
    """Code for a target may use all its features; each has a bit that the processor tells."""
    symbols = {one: one for one in FUNCTIONS}
    for target in ("amx", "avx512vnni", "avx512", "avx2", "baseline"):
        text = processor_text(X86_64, cpu.TARGETS[target], symbols)
        rows = re.findall(r"\[4 x i32\] \[(i32 [^\]]*)\]", text)
        bits = sum((int(row.split()[-1]) & 0xFFFFFFFF).bit_count() for row in rows)
        assert bits == len(cpu.TARGETS[target])
        assert ("xgetbv" in text) == (target != "baseline") and ("syscall" in text) == (
            target == "amx"
        )
