"""Runs every model of a folder, on one thread and on two: what qemu executes.

    python run_models.py CHECKOUT FOLDER [RUNS]

Reads `*.ncc` with `*.feeds.npz`, and writes `*.1.npz` and `*.2.npz`, the results on one thread and
on two. Results of more runs are those of the last one.
"""

import sys
from pathlib import Path

sys.path.insert(0, sys.argv[1])

import numpy as np  # noqa: E402

from ncc.runtime.session import Model  # noqa: E402


def main(folder: Path, runs: int) -> None:
    for path in sorted(folder.glob("*.ncc")):
        with np.load(path.with_suffix(".feeds.npz")) as held:
            feeds = dict(held)
        for threads in (1, 2):
            model = Model.load(path, threads)
            for _ in range(runs):
                results = model.run(feeds)
            np.savez(path.with_suffix(f".{threads}.npz"), **results)  # type: ignore[arg-type]


main(Path(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 1)
