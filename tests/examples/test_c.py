"""The example in C is built as its page says, and reads an image."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

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
    commands = re.findall(r"^#     (.+)$", page, re.MULTILINE)
    compiling = [shlex.split(command) for command in commands if command.startswith("ncc ")]
    assert [cli.run(words[1:]) for words in compiling] == [exit_codes.OK] * 2
    printed = [done(["sh", "-e", "-c", command]) for command in commands[2:]]
    assert re.fullmatch(r"5 \(9\d\.\d %\)\n", printed[-2])
    assert Path("build/edges.pgm").read_bytes().startswith(b"P5\n40 40\n255\n")


def built(folder: Path, program: str, param: str, *options: str) -> Path:
    """A program, without CMake and with all warnings. The network's name is that of its file."""
    name = Path(param).stem
    assert cli.run(["compile", param, "--emit=lib", "-o", name, *options]) == exit_codes.OK
    sources = [EXAMPLE / f"{program}.c", EXAMPLE / "pixels.c"]
    library = [f"-I{name}", f"{name}/lib{name}.a", "-pthread"]
    done(["cc", "-std=c99", *WARNINGS, *sources, *library, "-o", program])
    return folder / program


def image_of(grey: NDArray[np.uint8]) -> bytes:
    """An image as a file."""
    height, width = grey.shape
    return b"P5 %d %d 255\n" % (width, height) + grey.tobytes()


@needs_cc
def test_edges_of_images_of_several_sizes(checkout: Path) -> None:
    """One network draws all of them: where grey values change from pixel to pixel."""
    main = built(checkout, "find_edges", "examples/c/edges.param", "--shape", "image=1x?x?")
    sizes = (9, 31), (2, 2), (120, 64), (1, 1)
    images = [np.random.default_rng(h).integers(0, 256, (h, w), np.uint8) for h, w in sizes]
    words = []
    for n, image in enumerate(images):
        Path(f"{n}.pgm").write_bytes(image_of(image))
        words += [f"{n}.pgm", f"edges{n}.pgm"]
    done([main, *words])
    for n, image in enumerate(images):
        padded = np.pad(image.astype(np.float64) / 255, 1)
        rows = padded[:, :-2] + 2 * padded[:, 1:-1] + padded[:, 2:]
        columns = padded[:-2] + 2 * padded[1:-1] + padded[2:]
        slopes = abs(rows[2:] - rows[:-2]) + abs(columns[:, 2:] - columns[:, :-2])
        expected = np.clip(slopes / 4, 0, 1) * 255
        found = np.frombuffer(Path(f"edges{n}.pgm").read_bytes()[-image.size :], np.uint8)
        np.testing.assert_allclose(found.reshape(image.shape), expected, atol=0.51)


@needs_cc
def test_images_of_several_kinds(checkout: Path) -> None:
    """Grey and colour, large and small; what is no image is said to be none."""
    main = built(checkout, "read_digit", "examples/digits/digits.param")
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
