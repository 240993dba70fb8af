"""Tuning: what is timed, what is kept, and that it changes no result."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import ncc
from ncc.compiler.cli import ncc as command
from ncc.compiler.driver.cache import FOLDER_VARIABLE
from ncc.compiler.driver.tuned import SWITCH_VARIABLE, schedules_for, tuned_file
from ncc.compiler.loops.schedule.choose import rivals
from ncc.compiler.loops.schedule.schedule_text import schedule_text
from ncc.compiler.measure.schedulings import Schedulings
from ncc.compiler.measure.tune import tune
from ncc.compiler.options import Options
from ncc.compiler.pipeline import Compilation
from ncc.runtime.errors import InputError
from ncc.runtime.session import Model
from tests.crossed import some

NETWORK = """7767517
5 5
Input data 0 1 data 0=19 1=17 2=3
Convolution first 1 1 data a 0=24 1=3 4=1 5=1 6=648 9=1
Convolution point 1 1 a b 0=48 1=1 5=1 6=1152
Convolution strided 1 1 b c 0=40 1=3 3=2 5=1 6=17280
InnerProduct dense 1 1 c out 0=30 1=1 2=86400
"""

CHUNKS = """7767517
2 2
Input data 0 1 data 0=48 1=48 2=32
Convolution conv 1 1 data out 0=32 1=3 4=1 6=9216
"""

SMALL = "\n".join(["7767517", "3 3", *NETWORK.splitlines()[2:5]]) + "\n"


@pytest.fixture
def network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Contractions of several shapes, and a cache that knows nothing."""
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path / "cache"))
    path = tmp_path / "net.param"
    path.write_text(NETWORK)
    return path


def options(**more: Any) -> Options:
    return Options.of(random_weights=3, **more)


def image() -> np.ndarray[Any, Any]:
    return np.random.default_rng(1).standard_normal((3, 17, 19)).astype(np.float32)


def contenders(network: Path, chosen: Options) -> dict[str, list[str]]:
    """The texts of the candidates of all kernels that have some."""
    found = {
        step.signature or "": list(map(schedule_text, rivals(step.only_kernel, chosen.target)))
        for step in Schedulings(network, None, chosen).steps
        if step.only_kernel is not None
    }
    return {name: texts for name, texts in found.items() if len(texts) > 1}


def kernels(model: Model) -> list[str]:
    return [name for name, _ in model.artifact.info["steps"]]


@pytest.mark.parametrize("target", some(["host", "avx2", "baseline"], usual=1))
def test_no_candidate_changes_a_bit(network: Path, target: str) -> None:
    """On one thread and on three: tiles and the order of loops do not change the order of sums."""
    chosen = options(target=target, num_threads=3)
    choices = contenders(network, chosen)
    assert len(choices) >= 3
    schedulings = Schedulings(network, None, chosen)
    models = [
        schedulings.model({name: texts[-rank] for name, texts in choices.items()})
        for rank in (0, 1, 2)
    ]
    assert len({tuple(kernels(model)) for model in models}) == 3
    expected = models[0].run({"data": image()})["out"]
    for model in models:
        for threads in (1, 3):
            found = Model(model.artifact, threads).run({"data": image()})["out"]
            np.testing.assert_array_equal(found, expected)


def test_what_was_tuned_is_used_unless_it_shall_not(
    network: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By default, for every network; not by `tuned=False`, nor where the environment says so."""
    chosen = options()
    plain = kernels(ncc.compile(network, random_weights=3))
    last = {name: texts[-1] for name, texts in contenders(network, chosen).items()}
    tuned_file(os.environ, chosen.target).add(last)
    tuned = kernels(ncc.compile(network, random_weights=3))
    assert tuned != plain
    assert kernels(ncc.compile(network, random_weights=3, tuned=False)) == plain
    with monkeypatch.context() as patch:
        patch.setenv(SWITCH_VARIABLE, "off")
        assert kernels(ncc.compile(network, random_weights=3)) == plain
    assert kernels(ncc.compile(network, random_weights=3)) == tuned


def test_a_schedule_that_a_kernel_cannot_have_counts_for_nothing(network: Path) -> None:
    """A file may be older than the candidates, or somebody's own work."""
    chosen = options()
    plain = kernels(ncc.compile(network, random_weights=3))
    kept = tuned_file(os.environ, chosen.target)
    kept.add(dict.fromkeys(contenders(network, chosen), "contraction of no kernel"))
    assert kernels(ncc.compile(network, random_weights=3)) == plain


def test_kernels_of_loops_have_a_choice_too(network: Path) -> None:
    """Each is timed by itself, and has what was kept in loops as well."""
    network.write_text(CHUNKS)
    chosen = options(num_threads=2)
    shared = Compilation(network, None, chosen)
    loops = [step for step in shared.loops(*shared.planned).steps if step.of_iteration]
    in_loops = {call.signature for step in loops for call in step.of_iteration}
    assert in_loops & contenders(network, chosen).keys()


def test_every_choice_is_timed_once(network: Path) -> None:
    """What was kept is one of the candidates, and is timed again only where that is wanted."""
    network.write_text(SMALL)
    chosen = options()
    choices = contenders(network, chosen)
    first = tune(network, None, chosen, rounds=1)
    kept = schedules_for(chosen)
    assert kept.keys() == choices.keys() == {kernel.signature for kernel in first.kernels}
    assert all(kept[name] in texts for name, texts in choices.items())
    assert {"first", "point"} == {layer for kernel in first.kernels for layer in kernel.layers}
    assert not any(kernel.known for kernel in first.kernels)
    assert 0 < first.after_ms <= first.before_ms
    second = tune(network, None, chosen, rounds=1)
    assert all(kernel.known for kernel in second.kernels)
    assert schedules_for(chosen) == kept
    third = tune(network, None, chosen, rounds=1, again=True)
    assert not any(kernel.known for kernel in third.kernels)


def test_a_network_without_a_choice_is_tuned_at_once(
    network: Path,
) -> None:
    """There is nothing to keep."""
    network.write_text("7767517\n2 2\nInput data 0 1 data 0=8\nReLU relu 1 1 data out\n")
    found = tune(network, None, options(), rounds=1)
    assert found.kernels == () and found.before_ms == found.after_ms


def test_an_open_shape_is_asked_for(network: Path) -> None:
    """As by every command that runs a network."""
    network.write_text(NETWORK.replace(" 0=19 1=17 2=3", ""))
    with pytest.raises(InputError, match="--shape data="):
        tune(network, None, options(), rounds=1)


def test_the_command_tells_what_was_gained_and_where_it_is_kept(network: Path) -> None:
    """Layer by layer where another schedule won, and for all steps."""
    network.write_text(SMALL)
    arguments = ["tune", str(network), "--random-weights", "3", "--rounds", "1"]
    done = CliRunner().invoke(command, arguments)
    assert done.exit_code == 0, done.output
    assert "all steps" in done.output and "candidates timed" in done.output
    assert str(tuned_file(os.environ, options().target).path) in done.output
