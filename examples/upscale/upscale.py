"""Make all images of a folder larger, tile by tile: photos of any size, in bounded memory.

    python examples/upscale/upscale.py photos larger                       # twice, by interpolation
    python examples/upscale/upscale.py photos larger realesr.param         # by a network of yours

double.param, beside this file, interpolates between the nearest pixels. A network of yours takes
and returns values from 0 to 1, as those of Real-ESRGAN do (`--norm 1` for values from 0 to 255).
"""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path

from rich.progress import Progress, TaskID

import ncc

HERE = Path(__file__).parent
KINDS = {".bmp", ".jpeg", ".jpg", ".png", ".webp"}


def main() -> None:
    parser = argparse.ArgumentParser(description="Make all images of a folder larger.")
    parser.add_argument("photos", type=Path)
    parser.add_argument("larger", type=Path)
    parser.add_argument("model", type=Path, nargs="?", default=HERE / "double.param")
    parser.add_argument("--tile", type=int, help="the side of a tile; 200 by default")
    parser.add_argument("--overlap", type=int, default=10, help="as far as the network looks")
    parser.add_argument("--norm", type=float, default=1 / 255)
    chosen = parser.parse_args()

    compiled = chosen.model.suffix == ".ncc"
    model = ncc.load(chosen.model) if compiled else ncc.compile(chosen.model)
    upscale = ncc.tiled(model, chosen.tile, chosen.overlap, norm=chosen.norm)
    paths = sorted(path for path in chosen.photos.iterdir() if path.suffix.lower() in KINDS)
    chosen.larger.mkdir(parents=True, exist_ok=True)
    with Progress() as progress:
        for path in progress.track(paths, description=f"{len(paths)} images"):
            image = ncc.image.open(path)
            tiles = progress.add_task(path.name)
            larger = upscale(image, progress=partial(show, progress, tiles))
            progress.remove_task(tiles)
            ncc.image.save(larger, chosen.larger / f"{path.stem}.png")


def show(progress: Progress, tiles: TaskID, done: int, all: int) -> None:
    progress.update(tiles, completed=done, total=all)


if __name__ == "__main__":
    main()
