"""From two files to numbers: compile, look at the signature, run, save, load, run again.

python examples/compile_and_run.py
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

import ncc

DIGITS = Path(__file__).parent / "digits"


def main() -> None:
    # The weights are found beside the .param. Any blob of the network may be asked for by name.
    model = ncc.compile(DIGITS / "digits.param", opt_level=2, outputs=["prob", "pool2"])
    for blob in (*model.inputs, *model.outputs):
        print(f"{blob.name}: {blob.dtype} {blob.shape}")

    # One array in; a dictionary of arrays out, since there are two outputs. No batch axis.
    with np.load(DIGITS / "held_out.npz") as held_out:
        image, label = held_out["images"][0], held_out["labels"][0]
    values = model.run({"data": image})
    print(f"a handwritten {label}, read as {values['prob'].argmax()}")

    # A saved model needs no compiler: loading it imports neither xDSL nor LLVM.
    with tempfile.TemporaryDirectory() as folder:
        model.save(Path(folder, "digits.ncc"))
        loaded = ncc.load(Path(folder, "digits.ncc"))
        again = loaded.run({"data": image})
    print("the loaded model gives the same numbers:", np.array_equal(again["prob"], values["prob"]))


if __name__ == "__main__":
    main()
