"""How much memory this process may have: of the machine, within all limits."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from ncc.runtime import memory_limit

MACHINE = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")

ASK = "from ncc.runtime import memory_limit; print(memory_limit.at_hand())"


def test_no_more_than_the_machine_has() -> None:
    """Some of it, whatever the limits of this process are."""
    assert 0 < memory_limit.at_hand() <= MACHINE


def test_what_is_left_of_a_limited_address_space() -> None:
    """A process that may have 4 GB of addresses has less than these, by what it holds."""

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))

    done = subprocess.run(
        [sys.executable, "-c", ASK], preexec_fn=limited, capture_output=True, text=True, check=True
    )
    assert 0 < int(done.stdout) < 4 << 30


@pytest.mark.parametrize(
    ("line", "folder", "name"),
    [
        ("0::/service/worker", "", "memory.max"),
        ("4:cpu,memory:/service/worker", "memory", "memory.limit_in_bytes"),
    ],
)
def test_limits_of_groups(
    line: str, folder: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the group that the process is in and of those around it, the least; `max` is no limit."""
    root = tmp_path / folder
    inner = root / "service" / "worker"
    inner.mkdir(parents=True)
    (root / "service" / name).write_text("5000\n")
    (inner / name).write_text("max\n")
    groups = tmp_path / "cgroup"
    groups.write_text(f"9:pids:/\n{line}\n")
    monkeypatch.setattr(memory_limit, "GROUPS", tmp_path)
    monkeypatch.setattr(memory_limit, "OWN_GROUPS", groups)
    assert memory_limit.at_hand() == 5000
    (inner / name).write_text("3000\n")
    assert memory_limit.at_hand() == 3000


def test_where_groups_are_not_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their limits are none then."""
    monkeypatch.setattr(memory_limit, "OWN_GROUPS", tmp_path / "missing")
    assert memory_limit.at_hand() > 0
