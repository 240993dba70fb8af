"""Compile the digits network and let it read the handwriting that it has not seen in training.

python examples/digits/run.py
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

import ncc

HERE = Path(__file__).parent


def main() -> None:
    model = ncc.compile(HERE / "digits.param")  # digits.bin lies beside it
    with np.load(HERE / "held_out.npz") as held_out:
        images, labels = held_out["images"], held_out["labels"]
    read = [int(np.argmax(model(image))) for image in images]
    right = int(np.sum(read == labels))
    print(f"{right} of {len(labels)} held-out digits read right: {right / len(labels):.1%}")


if __name__ == "__main__":
    main()
