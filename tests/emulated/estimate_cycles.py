"""Estimates the cycles of a multiply-add in the inner loops of a network, by models of llvm-mca.

    python -m tests.emulated.estimate_cycles NET.param [--target neon] [--core neoverse-n1 ...]

Prints a line for each loop with enough multiply-adds: its instructions, the multiply-adds among
them, and the cycles of one of these on each core. The models know units, latencies and the front
end of a core, but no caches: see docs/speed.md.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from ncc.compiler.options import Options
from ncc.compiler.pipeline import Compilation

CORES = ("cortex-a55", "neoverse-n1", "neoverse-n2", "apple-m1")
PRODUCTS = re.compile(r"^\t(fmla|sdot|smmla)\t", re.MULTILINE)
LEAST, ROUNDS = 8, 200
"""The fewest multiply-adds of a loop, and how often a model runs it."""


def loops(assembly: str) -> Iterator[str]:
    """The bodies of loops that are one block: a label, then a branch back to it."""
    blocks = re.split(r"^(\.LBB\w+):.*$", assembly, flags=re.MULTILINE)
    for label, body in zip(blocks[1::2], blocks[2::2], strict=True):
        found = re.search(rf"^\t\S+\t(?:.*, )?{re.escape(label)}$", body, re.MULTILINE)
        if found is not None:
            yield body[: found.end()].replace(label, ".Lloop")


def cycles(body: str, core: str) -> float:
    """The cycles of an iteration; raises CalledProcessError for a core that llvm-mca lacks."""
    command = ["llvm-mca", "-mtriple=aarch64", f"-mcpu={core}", f"-iterations={ROUNDS}"]
    text = f".Lloop:\n{body}\n"
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
    return int(done.stdout.partition("Total Cycles:")[2].split()[0]) / ROUNDS


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("param", type=Path)
    parser.add_argument("--target", default="neon")
    parser.add_argument("--core", nargs="+", default=CORES)
    chosen = parser.parse_args()
    if shutil.which("llvm-mca") is None:
        parser.error("llvm-mca is not installed: it comes with the package llvm")
    options = Options.of(target=chosen.target, random_weights=1)
    levels = dict(Compilation(chosen.param, None, options).levels())
    print("instructions  multiply-adds", *(f"{core:>12}" for core in chosen.core))
    for body in loops(str(levels["asm"])):
        products = len(PRODUCTS.findall(body))
        if products >= LEAST:
            each = [cycles(body, core) / products for core in chosen.core]
            lines = sum(line.startswith("\t") for line in body.splitlines())
            print(f"{lines:12} {products:14}", *(f"{one:12.2f}" for one in each))


if __name__ == "__main__":
    main()
