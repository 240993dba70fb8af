"""The example in C is built as its page says, and reads an image."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from ncc.compiler import cli
from ncc.compiler.commands import exit_codes
from tests.c_programs import WARNINGS, done, needs_cc, run

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "c"


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder like a checkout, to be in, where the commands may write."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@needs_cc
@pytest.mark.slow
@pytest.mark.skipif(shutil.which("cmake") is None, reason="there is no cmake")
def test_the_commands_of_the_page(checkout: Path) -> None:
    """One after the other, as they stand there."""
    page = (EXAMPLE / "CMakeLists.txt").read_text()
    compiling, *others = re.findall(r"^#     (.+)$", page, re.MULTILINE)
    words = compiling.split()
    assert words[0] == "ncc" and cli.run(words[1:]) == exit_codes.OK
    printed = [done(["sh", "-e", "-c", command]) for command in others]
    assert re.fullmatch(r"5 \(9\d\.\d %\)\n", printed[-1])


def built(folder: Path) -> Path:
    """The program, without CMake and with all warnings."""
    command = ["compile", "examples/digits/digits.param", "--emit=lib", "-o", "digits"]
    assert cli.run(command) == exit_codes.OK
    sources = [EXAMPLE / "read_digit.c", EXAMPLE / "pixels.c"]
    library = ["-Idigits", "digits/libdigits.a", "-pthread"]
    done(["cc", "-std=c99", *WARNINGS, *sources, *library, "-o", "read_digit"])
    return folder / "read_digit"


@needs_cc
def test_images_of_several_kinds(checkout: Path) -> None:
    """Grey and colour, large and small; what is no image is said to be none."""
    main = built(checkout)
    grey = (EXAMPLE / "five.pgm").read_bytes()
    assert done([main, EXAMPLE / "five.pgm"]).startswith("5 ")
    pixels = grey[-1600:]
    colour = b"".join(bytes([pixel] * 3) for pixel in pixels)
    Path("five.ppm").write_bytes(b"P6 # in colour\n40\n40 255\n" + colour)
    assert done([main, "five.ppm"]) == done([main, EXAMPLE / "five.pgm"])
    Path("one.pgm").write_bytes(b"P5 1 1 255\n\xff")
    assert run([main, "one.pgm"]).returncode == 0
    for broken in (
        b"",
        b"P5",
        grey[:-1],
        b"P5 0 0 255\n",
        b"P5 99999999999 2 255\n",
        b"P4 8 8 255\n",
    ):
        Path("broken.pgm").write_bytes(broken)
        ended = run([main, "broken.pgm"])
        assert ended.returncode == 1 and "no PGM or PPM" in ended.stderr
