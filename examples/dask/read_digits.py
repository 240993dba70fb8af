"""Send a folder of images through a network, with the workers of a Dask cluster.

    python examples/dask/read_digits.py folder                        # workers on this machine
    dask scheduler --scheduler-file cluster.json                      # or on others: each command
    dask worker --scheduler-file cluster.json --nthreads 1            # in a terminal of its own
    python examples/dask/read_digits.py folder --cluster cluster.json

The images are of handwritten digits, white on black. Workers open them: only paths are sent there,
and digits come back. Without a folder, this writes one with the digits of examples/digits.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from distributed import Client, LocalCluster

import ncc

DIGITS = Path(__file__).parents[1] / "digits"


def prepared(path: str) -> ncc.image.Array:
    """What the network reads of a file: (1, 8, 8), from 0 to 1."""
    pixels = ncc.image.resize(ncc.image.open(path), (8, 8))
    gray = pixels if pixels.ndim == 2 else ncc.image.convert(pixels[..., :3], "rgb2gray")
    return ncc.image.from_pixels(gray, "gray", norm=1 / 255)


def digit(scores: ncc.image.Array) -> int:
    return int(np.argmax(scores))


def write_digits(folder: Path) -> None:
    """The held-out digits as images, whose names end in what they are."""
    with np.load(DIGITS / "held_out.npz") as held_out:
        pairs = zip(held_out["images"], held_out["labels"], strict=True)
        for number, (image, label) in enumerate(pairs):
            pixels = ncc.image.to_pixels(image, "gray", norm=1 / 255)
            ncc.image.save(pixels, folder / f"{number:04}-{label}.png")


def main() -> None:
    parser = argparse.ArgumentParser(description="Read digits with the workers of a cluster.")
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--cluster", help="the file that `dask scheduler` writes")
    chosen = parser.parse_args()
    with TemporaryDirectory() as made:
        folder = chosen.folder or Path(made)
        if chosen.folder is None:
            write_digits(folder)
        paths = [str(path.resolve()) for path in sorted(folder.glob("*.png"))]
        if chosen.cluster is not None:
            with Client(scheduler_file=chosen.cluster) as client:
                read(client, paths)
        else:
            with LocalCluster(dashboard_address=None) as cluster, Client(cluster) as client:
                read(client, paths)


def read(client: Client, paths: list[str]) -> None:
    model = DIGITS / "digits.param"  # each worker compiles it, for its own CPU
    found = ncc.dask.map(client, model, paths, prepare=prepared, finish=digit)
    for path, number in zip(paths, found, strict=True):
        print(f"{Path(path).name}: {number}")


if __name__ == "__main__":
    main()
