"""Counts the instructions that one run of a network executes on aarch64, by kind, under qemu.

    python -m tests.emulated.count_instructions NET.param [NET.bin] [--target neon] [--hottest 20]

Needs qemu-aarch64, a C compiler for the plugin `count_instructions.c`, and one for aarch64. A C
program runs the network on one thread; what it executes without a run is not counted. Weights are
made up if no `.bin` is given. A count is no time: see docs/speed.md.
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
from ncc.runtime.artifact import Artifact
from tests.c_programs import AARCH64, Arrays, Library, Toolchain
from tests.emulated.emulator import CPUS
from tests.emulated.subjects import SHAPES


def built_plugin(folder: Path) -> Path:
    """The plugin as a shared object."""
    source, plugin = Path(__file__).with_suffix(".c"), folder / "count.so"
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", plugin, source], check=True)
    return plugin


def counted(library: Library, options: list[str], feeds: Arrays, runs: int) -> Counter[str]:
    """The counts of a program that does so many runs on one thread. options: qemu's."""
    log = library.folder / f"{runs}.txt"
    plugin = ("-d", "plugin", "-D", str(log))
    library.toolchain = Toolchain(AARCH64.cc, (*AARCH64.runner, *options, *plugin))
    library.run(feeds, runs=runs)
    counts: Counter[str] = Counter()
    for line in log.read_text().splitlines():
        kind, _, count = line.rpartition(": ")
        counts[kind] += int(count)
    return counts


def of_one_run(artifact: Artifact, target: str, folder: Path, hottest: int = 0) -> Counter[str]:
    """The counts of one run on random numbers, and of so many of its instructions."""
    draw = np.random.default_rng(1)
    feeds = {one.name: draw.uniform(-1, 1, one.shape).astype(one.dtype) for one in artifact.inputs}
    library = Library(artifact, folder, toolchain=AARCH64)
    plugin = f"{built_plugin(folder)},hottest={hottest}"
    options = ["-cpu", CPUS[target], "-plugin", plugin]
    around, counts = (counted(library, options, feeds, runs) for runs in (0, 1))
    return Counter({kind: counts[kind] - around[kind] for kind in counts})


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("param", type=Path)
    parser.add_argument("bin", type=Path, nargs="?")
    parser.add_argument("--target", choices=sorted(CPUS), default="neon")
    parser.add_argument("--hottest", type=int, default=0, help="instructions to list")
    chosen = parser.parse_args()
    options = Options.of(
        target=chosen.target,
        random_weights=None if chosen.bin else 1,
        input_shapes=SHAPES.get(chosen.param.stem, {}),
    )
    artifact = artifact_of(Compilation(chosen.param, chosen.bin, options))
    with tempfile.TemporaryDirectory() as folder:
        once = of_one_run(artifact, chosen.target, Path(folder), chosen.hottest)
    total = sum(count for kind, count in once.items() if not kind.startswith("at "))
    print(f"{'all':28} {total / 1e6:10.1f} M")
    for kind, count in once.items():
        if count > 1e4:
            print(f"{kind:28} {count / 1e6:10.1f} M")


if __name__ == "__main__":
    main()
