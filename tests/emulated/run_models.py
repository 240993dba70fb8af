"""Runs every model of a folder: what qemu executes.

    python run_models.py CHECKOUT FOLDER THREADS...

Reads `*.ncc` with `*.feeds.npz`, and writes `*.1.npz`, the results of a run on one thread,
`*.2.npz`, those on two, and so on.
"""

import sys
from pathlib import Path

sys.path.insert(0, sys.argv[1])

import numpy as np  # noqa: E402

from ncc.runtime.session import Model  # noqa: E402


def main(folder: Path, counts: list[int]) -> None:
    for path in sorted(folder.glob("*.ncc")):
        with np.load(path.with_suffix(".feeds.npz")) as held:
            feeds = dict(held)
        for threads in counts:
            results = Model.load(path, threads).run(feeds)
            np.savez(path.with_suffix(f".{threads}.npz"), **results)  # type: ignore[arg-type]


main(Path(sys.argv[2]), [int(count) for count in sys.argv[3:]])
