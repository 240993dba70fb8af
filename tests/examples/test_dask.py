"""examples/dask reads digits on workers."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("distributed", reason="Dask is not installed")
pytest.importorskip("PIL", reason="Pillow is not installed")

SCRIPT = str(Path(__file__).parents[2] / "examples" / "dask" / "read_digits.py")


def share_read(printed: str) -> float:
    """Of digits that were read right."""
    pairs = re.findall(r"^\d+-(\d)\.png: (\d)$", printed, re.MULTILINE)
    assert len(pairs) > 100
    return len([label for label, read in pairs if label == read]) / len(pairs)


@pytest.mark.slow
def test_workers_of_this_machine(tmp_path: Path) -> None:
    """They read what the example of the network reads."""
    done = subprocess.run([sys.executable, SCRIPT], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert share_read(done.stdout) > 0.95


@pytest.mark.slow
def test_workers_of_a_scheduler(tmp_path: Path) -> None:
    """Two of them, started by the commands that the example names."""
    dask = [sys.executable, "-m", "dask"]
    file = ["--scheduler-file", str(tmp_path / "cluster.json")]
    quiet: dict[str, Any] = {
        "stdout": subprocess.DEVNULL,
        "stderr": subprocess.DEVNULL,
        "cwd": tmp_path,
    }
    started = [
        subprocess.Popen([*dask, "scheduler", *file, "--port", "0", "--no-dashboard"], **quiet),
        *(subprocess.Popen([*dask, "worker", *file, "--nthreads", "1"], **quiet) for _ in range(2)),
    ]
    try:
        command = [sys.executable, SCRIPT, "--cluster", str(tmp_path / "cluster.json")]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert share_read(done.stdout) > 0.95
    finally:
        for process in started:
            process.terminate()
        for process in started:
            process.wait()
