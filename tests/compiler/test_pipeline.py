"""A compiled model keeps its promises."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ncc
from ncc.compiler import pipeline
from ncc.compiler.artifact.from_plan import TIMESTAMPS
from ncc.compiler.diagnostics import CompilerBug, Unsupported
from ncc.compiler.driver.assemble import artifact_of
from ncc.compiler.driver.compile import compile_with
from ncc.compiler.driver.specialise import OpenModel
from ncc.compiler.linalg.analysis.generics import network_of
from ncc.compiler.ncnn.infer_shapes import infer_shapes
from ncc.compiler.options import Options
from ncc.compiler.pipeline import Compilation, stages
from ncc.compiler.plan import Loop
from ncc.compiler.stopwatch import Stopwatch
from ncc.compiler.target import AVX512
from ncc.dialects.size import NeedsNumbers
from ncc.dialects.weights.sources import Array
from ncc.runtime import cpu
from ncc.runtime.artifact import as_bytes
from ncc.runtime.errors import InputError
from ncc.runtime.session import Model
from tests.crossed import some

SMALL = """7767517
12 15
Input data 0 1 data 0=20 1=18 2=3
Convolution conv1 1 1 data c1 0=20 1=3 3=2 4=1 5=1 6=540 9=1
Split s1 1 2 c1 c1a c1b
ConvolutionDepthWise dw 1 1 c1a d1 0=20 1=3 4=1 5=1 6=180 7=20 9=1
BinaryOp add 2 1 d1 c1b sum 0=0
Split s2 1 2 sum sum_a sum_b
Pooling pool 1 1 sum_a p1 0=0 1=3 2=2 3=1
Pooling mean 1 1 sum_b m1 0=1 4=1
Flatten flat 1 1 p1 f1
Concat cat 2 1 f1 m1 all 0=0
InnerProduct fc 1 1 all fc 0=10 1=1 2=7400
Softmax prob 1 1 fc prob 0=0
"""

TILES = """7767517
3 3
Input data 0 1 data 0=96 1=48 2=32
Convolution a 1 1 data a 0=32 1=3 4=1 5=1 6=9216 9=1
Convolution b 1 1 a out 0=32 1=3 4=1 6=9216
"""


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A network with a residual, two heads and a classifier; its weights are made up."""
    path = tmp_path / "small.param"
    flat = 20 * 5 * 6 + 20
    path.write_text(SMALL.replace("2=7400", f"2={flat * 10}"))
    return path


def compiled(path: Path, **options: Any) -> Model:
    return ncc.compile(path, random_weights=7, **options)


def image(seed: int = 0) -> Array:
    return np.random.default_rng(seed).standard_normal((3, 18, 20)).astype(np.float32)


def same_bits(a: Mapping[str, Array], b: Mapping[str, Array]) -> bool:
    return a.keys() == b.keys() and all(np.array_equal(a[k], b[k]) for k in a)


def test_saved_and_loaded(small: Path, tmp_path: Path) -> None:
    """A model that went through a file gives the same bits."""
    model = compiled(small)
    model.save(tmp_path / "small.ncc")
    loaded = ncc.load(tmp_path / "small.ncc")
    assert same_bits(loaded.run({"data": image()}), model.run({"data": image()}))


def test_damaged_places_are_noticed_when_a_model_is_loaded(tmp_path: Path) -> None:
    """Code would read far behind its buffers."""
    path = tmp_path / "nearest.param"
    path.write_text("7767517\n2 2\nInput x 0 1 x 0=7 1=9 2=3\nInterp i 1 1 x y 0=1 3=13 4=17\n")
    model, saved = compiled(path), tmp_path / "nearest.ncc"
    model.save(saved)
    ncc.load(saved)
    weights, data = bytes(as_bytes(model.artifact.weights)), saved.read_bytes()
    assert len(model.artifact.tables) == 2
    for table in model.artifact.tables:
        broken = bytearray(data)
        broken[data.index(weights) + table.start + 6] = 0x7F
        saved.write_bytes(broken)
        with pytest.raises(ncc.ArtifactError, match="a table in weights does not match"):
            ncc.load(saved)


@pytest.mark.parametrize("level", [0, 1, 2])
def test_threads_change_no_bit(small: Path, level: int) -> None:
    """Two threads and more give the bits of one, run after run; also without a core for each."""
    one = compiled(small, opt_level=level).run({"data": image()})
    for threads in (2, 3, 16):
        model = Model(compiled(small, opt_level=level, num_threads=threads).artifact, threads)
        for _ in range(20):
            assert same_bits(model.run({"data": image()}), one)


def test_busy_neighbours_change_no_bit(small: Path) -> None:
    """Every core has somebody else's work to do, and all runs end, on as many threads as cores or
    more."""
    one = compiled(small).run({"data": image()})
    artifact = compiled(small, num_threads=16).artifact
    forever = [sys.executable, "-c", "while True: pass"]
    neighbours = [subprocess.Popen(forever) for _ in range(cpu.cores())]
    try:
        for threads in (2, 16):
            model = Model(artifact, threads)
            for _ in range(5):
                assert same_bits(model.run({"data": image()}), one)
    finally:
        for neighbour in neighbours:
            neighbour.kill()
            neighbour.wait()


def test_concurrent_calls(small: Path) -> None:
    """One model called from four threads at once answers each with its own result."""
    model = compiled(small, num_threads=2)
    expected = [model(image(seed)) for seed in range(4)]
    wrong: list[int] = []

    def call(seed: int) -> None:
        for _ in range(25):
            if not np.array_equal(model(image(seed)), expected[seed]):
                wrong.append(seed)

    callers = [threading.Thread(target=call, args=(seed,)) for seed in range(4)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert not wrong


def test_the_input_is_not_written(small: Path) -> None:
    """A run leaves the caller's array as it was, at every level."""
    for level in (0, 2):
        x = image()
        compiled(small, opt_level=level).run({"data": x})
        assert np.array_equal(x, image())


@pytest.mark.parametrize(
    "blob", some(["data", "sum", "f1", "c1", "d1", "p1", "m1", "all", "fc"], usual=3)
)
def test_any_blob_can_be_an_output(small: Path, blob: str) -> None:
    """A blob inside the network comes out as the plain level computes it, beside the last one."""
    plain = compiled(small, opt_level=0, outputs=[blob, "prob"]).run({"data": image()})
    found = compiled(small, outputs=[blob, "prob"]).run({"data": image()})
    for name in (blob, "prob"):
        np.testing.assert_allclose(found[name], plain[name], rtol=1e-4, atol=1e-5)


def test_stages_are_those_of_emit(small: Path) -> None:
    """Every level shows itself, in the order in which a network passes them."""
    names = [name for name, _ in stages(small, opt_level=2, random_weights=7)]
    assert names == ["param", "ncnn", "linalg", "kernels", "loops", "llvm", "asm", "obj"]


def test_a_param_does_without_the_operators_of_onnx(small: Path) -> None:
    """Their import would take a twentieth of a cold compilation."""
    program = """
import sys
from ncc.compiler.pipeline import stages
print(len(list(stages(sys.argv[1], random_weights=7))))
print([name for name in sys.modules if name.startswith(("onnx", "ncc.compiler.onnx"))])
print("ncc.dialects.onnx.dialect" in sys.modules)
"""
    command = [sys.executable, "-c", program, str(small)]
    assert subprocess.check_output(command, text=True) == "8\n[]\nFalse\n"


def test_a_pass_that_needs_numbers_is_not_supported(small: Path) -> None:
    """A compilation of open sizes says so, and which pass it is."""
    compilation = Compilation(small, None, Options.of(random_weights=1))
    with pytest.raises(Unsupported, match="open sizes in tile: a table of so many rows"):
        with compilation.changing(compilation.source, "tile"):
            raise NeedsNumbers("a table of so many rows")


def test_ir_that_does_not_verify_is_a_bug_of_its_pass(small: Path) -> None:
    """If the options want that to be found."""
    for verifies in (True, False):
        options = Options.of(random_weights=1, verify_each=verifies)
        compilation = Compilation(small, None, options)
        module = compilation.structured(compilation.network())
        bug = pytest.raises(CompilerBug, match="cut leaves IR that does not verify: .*terminator")
        with bug if verifies else nullcontext(), compilation.changing(module, "cut"):
            last = network_of(module).body.block.last_op
            assert last is not None
            last.detach()


TWICE = """7767517
5 6
Input data 0 1 data
ReLU first 1 1 data a
Split both 1 2 a b c
Sigmoid second 1 1 b d
BinaryOp add 2 1 c d sum
"""


def test_memory_that_no_process_has_is_refused(tmp_path: Path) -> None:
    """Each value has addresses, and those that live at one time have not."""
    path = tmp_path / "net.param"
    path.write_text(TWICE)
    options = Options.of(opt_level=0, input_shapes={"data": (30_000, 10**9)}, random_weights=1)
    compilation = Compilation(path, None, options)
    with pytest.raises(InputError, match="no memory holds what a run computes, which would be"):
        compilation.plan(compilation.structured(compilation.network()))


def test_shapes_of_open_inputs_are_inferred_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Unless extents have to be equal."""
    calls = 0

    def counted(*given: Any) -> None:
        nonlocal calls
        calls += 1
        infer_shapes(*given)

    path = tmp_path / "net.param"
    path.write_text(TWICE)
    monkeypatch.setattr(pipeline, "infer_shapes", counted)
    options = Options.of(random_weights=1, input_shapes={"data": (3, None, None)})
    Compilation(path, None, options).network()
    assert calls == 1


def test_equal_layers_share_a_kernel(tmp_path: Path) -> None:
    """Equal convolutions are steps of one kernel; the first reads the network's own layout."""
    lines = ["7767517", "5 5", "Input data 0 1 b0 0=16 1=16 2=16"]
    lines += [f"Convolution c{k} 1 1 b{k} b{k + 1} 0=16 1=1 5=1 6=256" for k in range(4)]
    path = tmp_path / "equal.param"
    path.write_text("\n".join([*lines, ""]))
    steps: Any = compiled(path).artifact.info["steps"]
    called = [kernel for kernel, layers in steps if any(name.startswith("c") for name in layers)]
    convolutions = [kernel for kernel in called if kernel.startswith("contraction")]
    assert len(convolutions) == 4 and len(set(convolutions[1:])) == 1


WIDE = """7767517
10 11
Input data 0 1 data 0=96 1=96 2=3
Convolution stem 1 1 data a 0=32 1=3 3=2 4=1 6=864 9=1
Convolution expand 1 1 a b 0=96 1=1 6=3072 9=1
ConvolutionDepthWise window 1 1 b c 0=96 1=3 4=1 6=864 7=96 9=1
Convolution project 1 1 c d 0=32 1=1 6=3072
Split s 1 2 d d0 d1
Convolution tiles 1 1 d0 e 0=32 1=3 4=1 6=9216 9=1
BinaryOp sum 2 1 e d1 f 0=0
Pooling large 1 1 f g 0=0 1=3 2=2
Pooling mean 1 1 g out 0=1 4=1
"""


@pytest.mark.parametrize("shape", [(3, 1024, 1024), (3, 1080, 1920)])
@pytest.mark.parametrize("threads", [1, 2])
def test_large_images_have_as_much_code(
    tmp_path: Path, threads: int, shape: tuple[int, ...]
) -> None:
    """What an image needs more of are iterations; the last ones of a loop may be smaller."""
    path = tmp_path / "net.param"
    path.write_text(WIDE)
    small = Options(target=AVX512, num_threads=threads, random_weights=0)
    counts = []
    for options in (small, replace(small, input_shapes={"data": shape})):
        compilation = Compilation(path, None, options)
        loops = compilation.loops(*compilation.planned)
        calls = [call for step in loops.steps for call in (step.of_iteration or [step])]
        counts.append((len(calls), len(loops.units)))
    before, after = counts
    assert after[0] <= before[0] + 3 and after[1] <= before[1] + 3, counts


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("shape", [(16, 8, 8), (16, None, None)], ids=["known", "open"])
def test_stamps_are_one_more_output(
    tmp_path: Path, shape: tuple[int | None, ...], threads: int
) -> None:
    """They tell when each step was done, and results stay the same."""
    path = tmp_path / "net.param"
    path.write_text(
        "7767517\n3 3\nInput data 0 1 data 0=8 1=8 2=16\n"
        "Pooling pool 1 1 data p 1=2 2=2\nConvolution conv 1 1 p out 0=16 1=1 6=256\n"
    )
    plain = Options.of(random_weights=1, num_threads=threads, input_shapes={"data": shape})
    x = np.linspace(-1, 1, 1024, dtype=np.float32).reshape(16, 8, 8)
    wanted = compile_with(path, None, plain).run({"data": x})
    assert set(wanted) == {"out"}
    model = compile_with(path, None, replace(plain, timestamps=True))
    found = model.run({"data": x})
    timestamps = found.pop(TIMESTAMPS)
    assert np.array_equal(found["out"], wanted["out"])
    version = model._versions.models[0] if isinstance(model, OpenModel) else model
    assert timestamps.shape == (len(version.artifact.info["steps"]) + 1,)
    assert (np.diff(timestamps) > 0).all()


def test_calls_of_loops_one_by_one(tmp_path: Path) -> None:
    """Each is a step, of the kernel that the loop has; results are the same."""
    path = tmp_path / "net.param"
    path.write_text(TILES)
    options = Options.of(random_weights=1, num_threads=2)
    whole, alone = (Compilation(path, None, options, one_by_one=one) for one in (False, True))
    loops, calls = (one.loops(*one.planned) for one in (whole, alone))
    first, second = (step for step in loops.steps if step.of_iteration)
    counted = Counter(step.kernel for step in calls.steps)
    assert not any(step.of_iteration for step in calls.steps)
    assert {unit.name for unit in loops.units} == counted.keys()
    for loop in (first, second):
        assert all(counted[call.kernel] >= loop.chunks for call in loop.of_iteration)
    x = np.random.default_rng(0).standard_normal((32, 48, 96)).astype(np.float32)
    wanted, found = (Model(artifact_of(one)).run({"data": x})["out"] for one in (whole, alone))
    assert np.array_equal(found, wanted)


@pytest.mark.parametrize("threads", [2, 3])
def test_loops_that_threads_share(tmp_path: Path, threads: int) -> None:
    """The same bits as of threads that do whole iterations; each loop has one stamp."""
    path = tmp_path / "net.param"
    path.write_text(TILES)
    options = Options.of(random_weights=1, num_threads=threads, timestamps=True)
    private, shared = Compilation(path, None, options), Compilation(path, None, options)
    module, plan = shared.planned
    loops = [step for step in plan.steps if isinstance(step, Loop)]
    steps = [replace(step, threads=1) if step in loops else step for step in plan.steps]
    shared.planned = module, replace(plan, steps=tuple(steps))
    assert len(loops) == 2
    x = np.random.default_rng(0).standard_normal((32, 48, 96)).astype(np.float32)
    wanted = Model(artifact_of(private)).run({"data": x})
    model = Model(artifact_of(shared))
    for _ in range(10):
        found = model.run({"data": x})
        assert np.array_equal(found["out"], wanted["out"])
        assert found[TIMESTAMPS].shape == wanted[TIMESTAMPS].shape
        begin, *ends = found[TIMESTAMPS]
        assert min(ends) > begin  # steps without a barrier between them end in any order


def test_a_stopwatch_is_told_every_stage(tmp_path: Path) -> None:
    """From reading to packing; no stage is left out."""
    path = tmp_path / "net.param"
    path.write_text("7767517\n2 2\nInput data 0 1 data 0=8\nReLU relu 1 1 data out\n")
    watch = Stopwatch()
    compile_with(path, None, Options.of(), watch)
    names = list(watch.seconds)
    first = ["look for the model", "load the model", "import the levels", "read", "infer shapes"]
    assert names[:5] == first
    assert "pack weights" in names
