"""Random networks: every layer type, and whatever an optimizer might rewrite, rightly or wrongly.

    network = random_network(seed)
    network.save(folder)                    # net.param and net.bin, as ncnn loads them
    network.feeds, network.outputs

A network of 3 to 25 layers starts with a layer with weights and one that may vanish in it, so that
every pair occurs, and a motif, so that each has its turn. It grows by motifs: single layers, and
the chains that rewrites look for with everything that may stand in their way. The same seed gives
the same network.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from ncc.dialects.ncnn.layer import Array
from tests.networks.random_growth import MOST_ATTEMPTS, MOST_ELEMENTS, MOST_LAYERS, Growth, Line
from tests.networks.random_layers import POINTWISE
from tests.networks.random_motifs import MOTIFS
from tests.networks.random_pairs import PAIRS, lone, planted
from tests.networks.random_places import PLACES
from tests.networks.random_regions import REGIONS
from tests.networks.random_sequences import SEQUENCES
from tests.networks.random_types import TYPES
from tests.networks.random_windows import WINDOWS

KINDS = [*MOTIFS, *SEQUENCES, *WINDOWS, *TYPES, *REGIONS, *PLACES]

TURNS = [*dict.fromkeys(KINDS), *(lone(type, **params) for type, params in POINTWISE)]
"""What is planted in turn, so that luck leaves nothing out: every motif and every single layer."""


@dataclass(frozen=True)
class RandomNetwork:
    """The lines of a network, what it is fed, and the names of the blobs that nobody reads."""

    seed: int
    lines: tuple[Line, ...]
    feeds: Mapping[str, Array]

    @property
    def types(self) -> set[str]:
        return {line.type for line in self.lines}

    @property
    def outputs(self) -> list[str]:
        read = {blob for line in self.lines for blob in line.inputs}
        return [blob for line in self.lines for blob in line.outputs if blob not in read]

    @property
    def text(self) -> str:
        blobs = sum(len(line.outputs) for line in self.lines)
        return "\n".join(["7767517", f"{len(self.lines)} {blobs}", *map(str, self.lines), ""])

    def save(self, folder: Path) -> tuple[Path, Path]:
        """Write the .param and the .bin; their paths."""
        param, bin = folder / f"net{self.seed}.param", folder / f"net{self.seed}.bin"
        param.write_text(self.text)
        bin.write_bytes(b"".join(line.weights for line in self.lines))
        return param, bin


def random_network(
    seed: int, growth: type[Growth] = Growth, most_elements: int = MOST_ELEMENTS
) -> RandomNetwork:
    """The network of a seed. growth: what it grows in; most_elements: those of a blob."""
    net = growth(np.random.default_rng([seed, 7767517]), most_elements)
    wanted = int(net.rng.integers(3, MOST_LAYERS - 4))
    rank, motif = planted(seed)
    net.plant(motif, rank)
    net.plant(TURNS[seed % len(TURNS)])
    for _ in range(int(net.rng.integers(0, 2))):
        net.input(int(net.rng.choice([1, 2, 3, 3, 3, 3, 4])))
    attempts = 0
    while len(net.lines) < wanted or net.unused_inputs():
        attempts += 1
        unused = net.unused_inputs()
        recent = [b for line in net.lines[-2:] for b in line.outputs if b in net.values]
        blobs = unused or (recent if net.chance(0.75) else list(net.values))
        net.try_motif(net.pick(KINDS), net.pick(blobs))
        if attempts > MOST_ATTEMPTS:
            raise AssertionError(f"network {seed} does not grow")
    # At first no Split with a part that nobody reads stands in the way of a pair.
    split = net.chance(0.5) and seed >= PAIRS
    lines = _with_splits(net) if split else tuple(net.lines)
    return RandomNetwork(seed, lines, net.feeds)


def _with_splits(net: Growth) -> tuple[Line, ...]:
    """The same network where every blob of several readers is split, now and then for more."""
    readers: dict[str, int] = {}
    for line in net.lines:
        for blob in line.inputs:
            readers[blob] = readers.get(blob, 0) + 1
    parts: dict[str, list[str]] = {}
    lines: list[Line] = []
    for line in net.lines:
        taken = tuple(parts[blob].pop() if blob in parts else blob for blob in line.inputs)
        lines.append(replace(line, inputs=taken))
        for blob in line.outputs:
            count = readers.get(blob, 0)
            padding_lanes = net.chance(0.2)
            if count > 1 or (count == 1 and padding_lanes):
                names = [f"{blob}_split{k}" for k in range(count + padding_lanes)]
                lines.append(Line("Split", f"split_{blob}", (blob,), tuple(names)))
                parts[blob] = names
    return tuple(lines)
