"""The copy that packs large models: when there is one, and that it makes the same file."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ncc.compiler.kept import models, packer
from ncc.compiler.kept.models import compile_file
from ncc.compiler.kept.packer import Packer
from ncc.compiler.measure.stopwatch import Stopwatch
from ncc.compiler.options import Options
from ncc.runtime import cpu
from tests.compiler.process.processes import is_at_work

PARAM = """7767517
2 2
Input            data   0 1 data 0=1200
InnerProduct     dense  1 1 data out 0=1000 1=1 2=1200000
"""


@pytest.fixture
def network(tmp_path: Path, own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A network that counts as large, with its weights, and a cache of its own."""
    for module in (models, packer):
        monkeypatch.setattr(module, "LARGE", 1 << 20)
    monkeypatch.setattr(cpu, "cores", lambda: 2)
    path = tmp_path / "net.param"
    path.write_text(PARAM)
    numbers = np.random.default_rng().standard_normal(1_201_000, np.float32)
    path.with_suffix(".bin").write_bytes(bytes(4) + numbers.tobytes())
    return path


def begun(network: Path) -> Packer:
    """The packer of a command line."""
    found = Packer.for_command([str(network), "-O2"])
    assert found is not None
    return found


def compiled(network: Path, packer: Packer | None = None) -> bytes:
    """The bytes of the file."""
    path = network.with_suffix(".ncc")
    path.unlink(missing_ok=True)
    compile_file(network, None, Options.of(), path, Stopwatch(), packer)
    assert not list(network.parent.glob(".*"))
    return path.read_bytes()


def test_the_copy_makes_the_same_file(network: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the recipe of a compilation that had none; of weights that have changed, another one."""
    first = compiled(network, begun(network))
    weights = network.with_suffix(".bin")
    with monkeypatch.context() as patch:
        patch.setattr("ncc.compiler.front.compile_artifact", None)
        assert compiled(network, begun(network)) == first
        stat = weights.stat()
        weights.write_bytes(weights.read_bytes()[:-8] + b"changed!")
        os.utime(weights, ns=(stat.st_atime_ns, stat.st_mtime_ns))
        changed = compiled(network, begun(network))
    assert changed != first and compiled(network) == changed


def test_what_it_cannot_write_is_told_by_who_asked(network: Path) -> None:
    """As without it."""
    compiled(network)
    path = network.parent / "nowhere" / "net.ncc"
    with pytest.raises(OSError, match="no such folder"):
        compile_file(network, None, Options.of(), path, Stopwatch(), begun(network))


def test_who_asked_does_what_a_killed_copy_leaves(network: Path) -> None:
    """As a system without memory kills it."""
    first, copy = compiled(network), begun(network)
    os.kill(copy._process, signal.SIGKILL)
    time.sleep(0.05)
    assert compiled(network, copy) == first


def test_who_is_interrupted_ends_the_copy(network: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which takes its draft away."""
    compiled(network)
    path = network.with_suffix(".ncc")

    def interrupted(_: object) -> None:
        while is_at_work(str(copy._process)) and not (drafts() or path.exists()):
            time.sleep(0.001)
        raise KeyboardInterrupt

    def drafts() -> list[Path]:
        return list(network.parent.glob(".*"))

    copy = begun(network)
    monkeypatch.setattr(pickle, "load", interrupted)
    with pytest.raises(KeyboardInterrupt):
        compiled(network, copy)
    assert not Path("/proc", str(copy._process)).exists()
    assert not drafts()


def test_there_is_one_where_there_is_much_to_pack(
    network: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a .bin, or a .param beside one, and a core for it; one that is not needed ends."""
    weights = network.with_suffix(".bin")
    assert Packer.for_command(["-o", "net.ncc", "nowhere.param", str(network.parent)]) is None
    for arguments in ([str(weights)], ["-O", "2", str(network)]):
        copy = Packer.for_command(arguments)
        assert copy is not None
        assert copy.pack(None, "net.ncc") is None
        assert not Path("/proc", str(copy._process)).exists()
    monkeypatch.setattr(cpu, "cores", lambda: 1)
    assert Packer.for_command([str(weights)]) is None
    monkeypatch.setattr(cpu, "cores", lambda: 2)
    weights.write_bytes(bytes(1 << 20))
    assert Packer.for_command([str(weights)]) is None


def test_no_process_is_no_packer(network: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the system allows no more."""

    def refused(*_: Any) -> None:
        raise BlockingIOError

    monkeypatch.setattr(os, "fork", refused)
    assert Packer.for_command([str(network)]) is None


def test_the_command_has_one_begun(network: Path) -> None:
    """Before it reads what it is asked for: its process takes no numpy."""
    first = compiled(network)
    code = (
        "import sys\n"
        "from ncc.compiler.kept import models, packer\n"
        "from ncc.compiler import cli\n"
        "from ncc.runtime import cpu\n"
        "models.LARGE = packer.LARGE = 1 << 20\n"
        "cpu.cores = lambda: 2\n"
        "leave, cli.leave = cli.leave, lambda code: leave(10 + ('numpy' in sys.modules))\n"
        "from ncc.__main__ import main; main()"
    )
    path = network.with_name("again.ncc")
    command = [sys.executable, "-c", code, "compile", str(network), "-o", str(path)]
    assert subprocess.run(command, check=False).returncode == 10
    assert path.read_bytes() == first
