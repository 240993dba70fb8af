"""Counts the instructions that one run of a network executes on aarch64, by kind, under qemu.

    python -m tests.emulated.count_instructions NET.param [--target neon] [--hottest 20]

Needs a C compiler for the plugin `count_instructions.c`, qemu-aarch64, and the Python of
`install.sh`. Weights are made up. Counts of one kind repeat; those of integers vary by some
millions, because Python counts, too. A count is no time: see docs/speed.md.
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np

from ncc.compiler.driver.assemble import artifact_of
from ncc.compiler.options import Options
from ncc.compiler.pipeline import Compilation
from tests.emulated.emulator import CPUS, Emulator

FEW, MANY = 1, 4
"""Runs of two processes: their difference leaves out what happens once."""


def built_plugin(folder: Path) -> Path:
    """The plugin as a shared object."""
    source, plugin = Path(__file__).with_suffix(".c"), folder / "count.so"
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", plugin, source], check=True)
    return plugin


def counted(emulator: Emulator, plugin: str, folder: Path, runs: int) -> Counter[str]:
    """The counts of a process that does so many runs on one thread."""
    log = folder / f"{runs}.txt"
    emulator.run_models(folder, runs, [1], ["-plugin", plugin, "-d", "plugin", "-D", str(log)])
    counts: Counter[str] = Counter()
    for line in log.read_text().splitlines():
        kind, _, count = line.rpartition(": ")
        counts[kind] += int(count)
    return counts


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("param", type=Path)
    parser.add_argument("--target", choices=sorted(CPUS), default="neon")
    parser.add_argument("--hottest", type=int, default=0, help="instructions to list")
    chosen = parser.parse_args()
    options = Options.of(target=chosen.target, random_weights=1)
    artifact = artifact_of(Compilation(chosen.param, None, options))
    draw = np.random.default_rng(1)
    feeds = {one.name: draw.uniform(-1, 1, one.shape).astype(np.float32) for one in artifact.inputs}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        artifact.save(folder / "net.ncc")
        np.savez(folder / "net.feeds.npz", **feeds)  # type: ignore[arg-type]
        plugin = f"{built_plugin(folder)},hottest={chosen.hottest}"
        few, many = (counted(Emulator(chosen.target), plugin, folder, n) for n in (FEW, MANY))
    once = {kind: (many[kind] - few[kind]) / (MANY - FEW) for kind in many}
    kinds = {kind: count for kind, count in once.items() if not kind.startswith("at ")}
    print(f"{'all':28} {sum(kinds.values()) / 1e6:10.1f} M")
    for kind, count in once.items():
        if count > 1e4:
            print(f"{kind:28} {count / 1e6:10.1f} M")


if __name__ == "__main__":
    main()
