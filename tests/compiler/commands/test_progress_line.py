"""Progress is a line on a terminal, after a second, and nothing elsewhere."""

from __future__ import annotations

import io
import os
import pty
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ncc.compiler.commands import progress_line as shown
from ncc.compiler.commands.arguments import progress
from ncc.compiler.progress import counted, tell
from tests.compiler.driver.processes import PATIENCE

DIGITS = Path(__file__).parents[3] / "examples" / "digits" / "digits.param"

AT_ONCE = """
from ncc.compiler.commands import progress_line
progress_line.DELAY = 0.0
from ncc.__main__ import main
main()
"""
"""The command `ncc`, whose line does not wait for a second: a machine may be done before."""


class Terminal(io.StringIO):
    """A stderr that is a terminal."""

    def isatty(self) -> bool:
        return True


def a_terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """An ordinary terminal in place of stderr, and no delay. pytest would take a fixture's back."""
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(shown, "DELAY", 0.0)
    monkeypatch.setenv("TERM", "xterm")
    for name in ("CI", "NO_COLOR", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    return terminal


def work() -> None:
    """Work of two parts, which gives a line time to come."""
    for _ in counted("comparing [layers]", "ab", 2):
        time.sleep(0.15)


def shown_work(terminal: Terminal) -> None:
    """The same, which goes on until the line is there."""
    for _ in counted("comparing [layers]", "ab", 2):
        wait_for("comparing", terminal)


def wait_for(text: str, terminal: Terminal) -> None:
    """Another thread writes it, as soon as it gets a core."""
    deadline = time.monotonic() + PATIENCE
    while text not in terminal.getvalue() and time.monotonic() < deadline:
        time.sleep(0.001)


def all_of(terminal: int) -> bytes:
    """What is written until the other side is closed. Its writers wait where nobody reads."""
    seen = b""
    while True:
        try:
            seen += os.read(terminal, 1 << 16)
        except OSError:  # nobody is left who could write
            return seen


def test_a_terminal_shows_what_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    """Names are no markup, and the line goes when the work is done."""
    terminal = a_terminal(monkeypatch)
    with progress("verifying net[1].param"):
        shown_work(terminal)
    text = terminal.getvalue()
    assert "verifying net[1].param: comparing [layers]" in text and "/2" in text
    assert text.endswith("\x1b[2K"), "the last thing is to wipe the line"


def test_what_is_over_at_once_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The line comes after a second."""
    terminal = a_terminal(monkeypatch)
    monkeypatch.setattr(shown, "DELAY", 60.0)
    with progress("compiling"):
        tell("reading")
    assert terminal.getvalue() == ""


@pytest.mark.parametrize(("name", "value"), [("TERM", "dumb"), ("CI", "true")])
def test_the_environment_may_be_against_it(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    """A terminal that cannot go back, and a log that is kept."""
    terminal = a_terminal(monkeypatch)
    monkeypatch.setenv(name, value)
    with progress("compiling"):
        work()
    assert terminal.getvalue() == ""


def test_no_colours_where_none_are_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    """The line is there, in the colour of the terminal."""
    terminal = a_terminal(monkeypatch)
    monkeypatch.setenv("NO_COLOR", "1")
    with progress("compiling"):
        shown_work(terminal)
    assert "compiling" in terminal.getvalue() and "\x1b[3" not in terminal.getvalue()


def test_a_pipe_gets_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    """Nor does a file."""
    with progress("compiling"):
        work()
    assert capsys.readouterr() == ("", "")


def test_an_error_leaves_no_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the block raises is raised."""
    terminal = a_terminal(monkeypatch)
    with pytest.raises(ValueError, match="x"), progress("compiling"):
        wait_for("compiling", terminal)
        raise ValueError("x")
    assert terminal.getvalue().endswith("\x1b[2K")


@pytest.mark.slow
@pytest.mark.parametrize(
    "words", [["verify"], ["bench", "--rounds", "20"], ["compile", "-o", "/dev/null"]]
)
def test_a_command_on_a_terminal(words: list[str], tmp_path: Path) -> None:
    """Its results on stdout are free of it; workers of a compilation are not disturbed."""
    main, other = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "NCC_CACHE": "off"}
    environment.pop("CI", None)
    command = [sys.executable, "-c", AT_ONCE, words[0], str(DIGITS), *words[1:]]
    if words[0] == "compile":
        command[-1] = str(tmp_path / "net.ncc")
    with (tmp_path / "printed").open("wb") as printed:
        process = subprocess.Popen(command, env=environment, stdout=printed, stderr=other)
    os.close(other)
    seen = all_of(main)
    os.close(main)
    assert process.wait() == 0 and b"\x1b" not in (tmp_path / "printed").read_bytes()
    assert words[0] != "bench" or b"measuring" in seen
