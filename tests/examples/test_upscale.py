"""examples/upscale makes photos larger."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import ncc

FOLDER = Path(__file__).parents[2] / "examples" / "upscale"

MEMORY = """
import resource, sys
import numpy as np
import ncc
upscale = ncc.tiled(ncc.compile(sys.argv[1]), norm=1 / 255, threads=2)
image = np.random.default_rng(0).integers(0, 256, (3000, 4000, 3), np.uint8)
upscale(image[:500, :500])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
larger = upscale(image)
more = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
print(more * 1024 - larger.nbytes)
"""


@pytest.mark.slow
def test_a_folder_of_photos_becomes_larger(tmp_path: Path) -> None:
    """Of any size, gray, and with alpha; its network interpolates as Pillow does."""
    Image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
    photos, larger = tmp_path / "photos", tmp_path / "larger"
    photos.mkdir()
    generator = np.random.default_rng(0)
    sizes = {
        "one.png": (250, 31, 3),
        "two.jpg": (20, 17, 3),
        "a.png": (9, 8, 4),
        "gray.png": (5, 6),
    }
    for name, shape in sizes.items():
        ncc.image.save(generator.integers(0, 256, shape, np.uint8), photos / name)
    (photos / "notes.txt").write_text("no image")
    command = [sys.executable, str(FOLDER / "upscale.py"), str(photos), str(larger), "--overlap=1"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    for name, shape in sizes.items():
        with Image.open(photos / name) as image:
            twice = image.convert("RGB").resize((2 * shape[1], 2 * shape[0]), Image.BILINEAR)
        found = ncc.image.open(larger / f"{Path(name).stem}.png")
        assert found.shape == (2 * shape[0], 2 * shape[1], *shape[2:])
        colours = found if found.ndim == 2 else found[..., :3]
        expected = np.asarray(twice.convert("L" if found.ndim == 2 else "RGB"))
        assert np.abs(colours.astype(int) - expected).max() <= 1, name


@pytest.mark.slow
def test_memory_stays_bounded() -> None:
    """A photo of 12 million pixels takes room for its result and some tiles."""
    command = [sys.executable, "-c", MEMORY, str(FOLDER / "double.param")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 32 << 20
