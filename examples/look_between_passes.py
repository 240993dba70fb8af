"""Run the passes of the upper levels by hand, and look at the IR after each.

    python examples/look_between_passes.py

`ncc compile net.param --dump ir` writes it without a line of Python, a file for every pass.
"""

from __future__ import annotations

import difflib
from pathlib import Path

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.dialects.linalg.ops import GenericOp

from ncc.compiler.linalg.analysis.linalg_op import LinalgOp
from ncc.compiler.linalg.fusion.form_fusion_groups import FormFusionGroups
from ncc.compiler.ncnn.canonicalize import canonicalize
from ncc.compiler.ncnn.convert_to_linalg import ConvertNcnnToLinalg
from ncc.compiler.ncnn.infer_shapes import infer_shapes
from ncc.compiler.read.read_network import read

DIGITS = Path(__file__).parent / "digits" / "digits.param"


def show_difference(before: str, after: str) -> None:
    for line in difflib.unified_diff(before.splitlines(), after.splitlines(), n=0, lineterm=""):
        if not line.startswith(("---", "+++", "@@")):
            print(line if len(line) <= 120 else line[:117] + "...")


def show_kernels(module: ModuleOp) -> None:
    for kernel in module.ops:
        computations = [
            LinalgOp(op).describe() for op in kernel.walk() if isinstance(op, GenericOp)
        ]
        if isinstance(kernel, FuncOp) and computations:
            print(f"  {kernel.sym_name.data:6}", "\n         ".join(computations))


def main() -> None:
    network = read(DIGITS).module
    infer_shapes(network)

    before = str(network)
    print("canonicalization fires:")
    for rewrite in canonicalize(network):
        print(f"  {rewrite}")
    print("\nand changes the network:")
    show_difference(before, str(network))

    # From here on there are no layers: each has become computations over loops, and computations
    # that belong together become one kernel.
    ConvertNcnnToLinalg().apply(Context(), network)
    FormFusionGroups(epilogues=True).apply(Context(), network)
    print("\nthe layers as kernels, in index notation:")
    show_kernels(network)


if __name__ == "__main__":
    main()
