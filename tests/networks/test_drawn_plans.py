"""Small networks take the plans of large ones, and compute the same.

The cost model has numbers that say from what size on a plan pays. Networks of tests are small, and
would meet few such plans: here these numbers are drawn, and the core with its caches.
What a run leaves in its memory is overwritten before the next, so that nothing is read that the
run has not made.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ncc.compiler.cost_model import CostModel
from ncc.compiler.driver.assemble import artifact_of
from ncc.compiler.options import Options
from ncc.compiler.pipeline import Compilation
from ncc.compiler.read.read_network import read
from ncc.compiler.target import ONE_UNIT, TWO_UNITS, TWO_UNITS_OF_AMD, Core, Target
from ncc.compiler.verification.difference import difference
from ncc.compiler.verification.interpret import interpret
from ncc.dialects.ncnn.layer import ParamValue
from ncc.runtime.session import Model

TOLERANCE = 5e-4
"""Of the largest value: transforms of tiles are drawn whatever they round."""

THREADS = (1, 3)

QUICK, ALL, BATCH = 2, 40, 10

DRAWN: Mapping[str, Sequence[float]] = {
    "groups.full_along_rows": (0.01, 9.0),
    "winograd.fewest_tiled_channels": (1, 8),
    "convolutions.fewest_empty_lanes": (0.0, 1.0),
    "convolutions.joined_phases_worth": (0.0, 9.0),
    "convolutions.phases_apart_worth": (0.0, 9.0),
    "convolutions.moved_to_phase": (0.0, 9.0),
    "convolutions.phases_worth": (0.0, 9.0),
    "convolutions.between_windows": (0.0, 9.0),
    "convolutions.most_peeled_work": (0, 10**9),
    "groups.most_large_groups": (1, 16),
    "groups.most_ragged_groups": (1, 16),
    "groups.group_weights_share": (0.0, 9.0),
    "convolutions.separate_windows_worth": (0.0, 2.0),
    "winograd.few_summed": (0, 10**9),
    "winograd.fewer_bytes": (0.0, 0.0, 5.0),
    "winograd.many_weights": (0, 0, 1 << 16),
    "winograd.row_worth": (9.0,),
    "strips.uneven_worth": (0.5, 3.0),
    "winograd.forming_weight": (0.0, 20.0),
    "convolutions.trimmed_worth": (0.0, 1.0),
    "convolutions.fewest_trimmed_elements": (0, 4),
    "reductions.most_blocks_in_place": (0, 1, 100),
    "reductions.times_scaled_image": (0, 1),
    "reductions.halved_times_larger": (0, 1),
    "reductions.fewest_halved_bytes": (0,),
    "reductions.most_halved_sums": (1 << 30,),
    "reductions.operand_share": (0.01, 2.0),
    "reductions.reduction_part_share": (0.01, 0.1),
    "reductions.parts_worth": (0,),
    "reductions.fewest_bytes_by_rows": (0, 1 << 12),
    "layout.bytes_per_multiply_add": (1e-3, 5.0),
    "layout.products_apart": (1, 500),
    "layout.products_of_lanes": (0, 500),
    "layout.fewest_uses_of_transposed": (0, 4),
    "layout.moves_per_multiply_add": (0.0, 1.0),
    "memory.most_on_stack": (0, 256, 1 << 18),
    "memory.arena_tries": (1, 3),
}
"""Numbers of the cost model, and what else they may be."""

CORES = {
    "l1_bytes": (1 << 10, 8 << 10, 1 << 20),
    "l2_bytes": (8 << 10, 64 << 10, 1 << 30),
    "multiply_adds": (1, 2),
    "memory_line": (0.1, 200.0),
    "joins": (False, True),
}

CHANNELS = (3, 8, 16, 16, 17, 24, 32, 32, 32, 48, 64)
EXTENTS = (1, 1, 2, 3, 4, 5, 7, 8, 12, 16)
ACTIVATIONS: Sequence[Mapping[str, ParamValue]] = (
    {},
    {"activation_type": 1},
    {"activation_type": 5},
)

Grow = Callable[[int], Any]


def convolved(net: Any, x: str) -> str:
    """A convolution of a sequence, an image or a volume."""
    channels, *space = net.shape(x)
    kind, group, outputs = "Convolution", 1, net.pick(CHANNELS)
    if net.chance(0.3):
        group = net.pick([n for n in (2, 3, 4, channels) if channels % n == 0])
        kind, outputs = "ConvolutionDepthWise", group * net.pick([1, 1, 16])
    elif net.chance(0.2):
        kind = "Deconvolution"
    taps = net.pick([1, 2, 3, 3, 3, 3, 5])
    window = [taps if net.chance(0.8) else 1 for _ in space]
    dilation = net.pick([1, 1, 1, 2])
    params: dict[str, ParamValue] = {
        "num_output": outputs,
        "bias_term": net.number(0, 1),
        "stride_w": net.pick([1, 1, 1, 2]),
        "dilation_w": dilation,
        "weight_data_size": outputs * channels // group * int(np.prod(window)),
        **net.pick(ACTIVATIONS),
    }
    sides = zip(("w", "h", "d"), ("left", "top", "front"), reversed(window), strict=False)
    for axis, side, count in sides:
        params[f"kernel_{axis}"] = count
        params[f"pad_{side}"] = net.pick([0, dilation * (count // 2), dilation * (count - 1)])
    if group > 1:
        params["group"] = group
    name: str = net.one(f"{kind}{('1D', '', '3D')[len(space) - 1]}", x, **params)
    return name


def added(net: Any, x: str) -> str:
    """A sum of what there is in that shape, through an activation."""
    total = net.one("BinaryOp", x, net.like(x), op_type=0)
    name: str = net.one(net.pick(["ReLU", "Swish", "TanH"]), total)
    return name


@pytest.fixture(scope="session")
def convolutions(random_blocks: Grow) -> Grow:
    """The convolutions of a seed, or its blocks."""
    from tests.networks.random_growth import Growth
    from tests.networks.random_network import RandomNetwork

    def make(seed: int) -> Any:
        if seed % 4 == 3:
            return random_blocks(seed)
        net = Growth(np.random.default_rng([seed, 14]), most_elements=60_000)
        extents = [net.pick(EXTENTS) for _ in range(net.pick([1, 2, 2, 3, 3]))]
        x = net.fed(net.random((net.pick(CHANNELS), *extents)))
        while len(net.lines) < 4:
            net.try_motif(net.pick([convolved, convolved, added]), x)
            x = net.lines[-1].outputs[0]
        return RandomNetwork(seed, tuple(net.lines), net.feeds)

    return make


def drawn_core(rng: np.random.Generator) -> Core:
    core = (ONE_UNIT, TWO_UNITS, TWO_UNITS_OF_AMD)[int(rng.integers(3))]
    fields = {name: values[int(rng.integers(len(values)))] for name, values in CORES.items()}
    kept = {name: value for name, value in fields.items() if rng.random() < 0.6}
    changes: dict[str, Any] = kept
    return replace(core, **changes)


def drawn_costs(rng: np.random.Generator) -> CostModel:
    likely = rng.choice([0.2, 0.6, 1.0])
    costs = CostModel()
    for name, values in DRAWN.items():
        if rng.random() < likely:
            group, field = name.split(".")
            drawn: Any = {field: values[int(rng.integers(len(values)))]}
            changed: Any = {group: getattr(costs, group)._replace(**drawn)}
            costs = costs._replace(**changed)
    return costs


def runs(model: Model, feeds: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Two runs; before the second, all memory of the first is filled with numbers that are none."""
    first = model.run(feeds)
    for context in model._free:
        memory = context._arena.bytes
        memory[:] = b"\xff" * len(memory)
    return [first, model.run(feeds)]


@pytest.mark.parametrize(
    "seeds",
    [
        pytest.param(range(QUICK), id="quick"),
        *(
            pytest.param(range(first, first + BATCH), id=f"{first}", marks=pytest.mark.slow)
            for first in range(0, ALL, BATCH)
        ),
    ],
)
def test_numbers(seeds: range, convolutions: Grow, tmp_path: Path) -> None:
    """Those of the references, and the same bits for any number of threads, on any memory."""
    for seed in seeds:
        rng, network = np.random.default_rng([seed, 15]), convolutions(seed)
        param, bin = network.save(tmp_path)
        wanted = interpret(read(param, bin).module, network.feeds)
        core, costs = drawn_core(rng), drawn_costs(rng)
        target = replace(Target.of("host", tiles=False), core=core, costs=costs)
        said = f"seed {seed}\n{core}\n{costs}"
        found: list[Mapping[str, Any]] = []
        for threads in THREADS:
            options = Options(num_threads=threads, target=target, tuned=False)
            model = Model(artifact_of(Compilation(param, bin, options)), threads)
            found += runs(model, network.feeds)
        for name, array in wanted.items():
            apart = difference(found[0][name], array)
            assert apart <= TOLERANCE, f"{name}: {apart:.2g}\n{said}\n{network.text}"
            same = all(np.array_equal(found[0][name], one[name]) for one in found)
            assert same, f"{name}\n{said}\n{network.text}"
