"""The command `ncc`: what it writes where, and what its exit code says."""

from __future__ import annotations

import json
import math
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from typing import TypeAlias

import numpy as np
import pytest
from click.shell_completion import BashComplete

from ncc.compiler import cli
from ncc.compiler.commands import exit_codes
from ncc.compiler.commands.emit import SUFFIXES
from ncc.compiler.diagnostics import CompilerBug, Unsupported
from ncc.compiler.driver import compile as front
from ncc.compiler.verification import verify
from ncc.compiler.verification.verify import Report, Row
from tests.crossed import some

# Threads of other tests: Python warns of them where a command starts its workers.
pytestmark = pytest.mark.filterwarnings("ignore:This process .* is multi-threaded")

DIGITS = Path(__file__).parents[2] / "examples" / "digits" / "digits.param"


@dataclass(frozen=True)
class Outcome:
    code: int
    out: str
    err: str


Run: TypeAlias = Callable[..., Outcome]


@pytest.fixture
def ncc(capfd: pytest.CaptureFixture[str]) -> Run:
    """ncc("run", ...): one command line, in this process."""

    def run(*arguments: object) -> Outcome:
        code = cli.run([str(argument) for argument in arguments])
        return Outcome(code, *capfd.readouterr())

    return run


@pytest.fixture
def image(tmp_path: Path) -> Path:
    """A handwritten digit as a .npy file."""
    with np.load(DIGITS.with_name("held_out.npz")) as held_out:
        np.save(tmp_path / "image.npy", held_out["images"][0])
    return tmp_path / "image.npy"


@pytest.mark.parametrize("command", ["compile", "run", "verify", "explain"])
def test_what_a_file_says_in_vain_is_told_once(ncc: Run, tmp_path: Path, command: str) -> None:
    """Compiled again, too: no model in the cache hides it."""
    for source in (DIGITS, DIGITS.with_suffix(".bin")):
        shutil.copy(source, tmp_path)
    with open(tmp_path / "digits.bin", "ab") as weights:
        weights.write(bytes(4))
    for _ in range(2):
        err = ncc(command, tmp_path / "digits.param").err
        assert (
            err == f"{tmp_path}/digits.bin: warning: 4 bytes behind the last weight are ignored\n"
        )


@pytest.mark.parametrize("command", ["compile", "run"])
def test_a_cache_that_cannot_be_written_is_told_in_a_line(
    ncc: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    """Not in Python's words, and once, whoever writes to it; all else goes on."""
    for source in (DIGITS, DIGITS.with_suffix(".bin")):
        shutil.copy(source, tmp_path)
    (tmp_path / "file").touch()
    monkeypatch.setenv("NCC_CACHE_DIR", str(tmp_path / "file"))
    ended = ncc(command, tmp_path / "digits.param")
    assert ended.code == exit_codes.OK
    assert ended.err == (
        f"{tmp_path}/file: warning: what is compiled is not kept: File exists "
        "(NCC_CACHE=off says so at once)\n"
    )


@pytest.mark.parametrize("command", ["run", "verify", "bench"])
def test_a_network_that_comes_through_a_pipe(ncc: Run, tmp_path: Path, command: str) -> None:
    """It is there once, and these commands read it again."""
    pipe = tmp_path / "net.param"
    os.mkfifo(pipe)
    writer = Thread(target=pipe.write_bytes, args=(DIGITS.read_bytes(),))
    writer.start()
    quick = ["--rounds", 1] if command == "bench" else []
    ended = ncc(command, pipe, DIGITS.with_suffix(".bin"), *quick)
    writer.join()
    assert ended.code == exit_codes.OK, ended.err
    assert "net" in ended.out or "prob" in ended.out


def test_a_compiled_model_that_comes_through_a_pipe(ncc: Run, tmp_path: Path) -> None:
    """It would be mapped, if it were a file."""
    ncc("compile", DIGITS, "-o", tmp_path / "net.ncc")
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = Thread(target=pipe.write_bytes, args=((tmp_path / "net.ncc").read_bytes(),))
    writer.start()
    ended = ncc("run", pipe)
    writer.join()
    assert ended.code == exit_codes.OK and ended.out.startswith("prob")


def test_compile_writes_one_file_that_run_can_use(ncc: Run, tmp_path: Path, image: Path) -> None:
    """net.ncc needs nothing beside it; results go to stdout and into .npy files."""
    compiled = ncc("compile", DIGITS, "-O2", "-o", tmp_path / "net.ncc")
    assert compiled.code == exit_codes.OK
    assert "data  float32 1x8x8" in compiled.out and "prob  float32 10" in compiled.out
    result = tmp_path / "prob.npy"
    binding = ["--input", f"data=@{image}", "--output", f"prob=@{result}"]
    ran = ncc("run", tmp_path / "net.ncc", *binding)
    assert ran.code == exit_codes.OK and ran.out.startswith("prob  float32 10")
    assert np.load(result).argmax() == 9


def test_compile_for_another_cpu(ncc: Run, tmp_path: Path) -> None:
    """A file for matrix tiles is made anywhere; without them -O3 is said to be -O2."""
    for target, said in [("amx", "bytes for amx"), ("avx2", "-O3 is -O2 here: avx2 has no")]:
        made = ncc("compile", DIGITS, "-O3", "--target", target, "-o", tmp_path / "net.ncc")
        assert made.code == exit_codes.OK and said in made.out
        assert ("-O2" in made.out) == (target == "avx2")


def test_run_compiles_a_network_and_hands_out_any_blob(ncc: Run, image: Path) -> None:
    """--output names blobs inside the network as well."""
    ran = ncc("run", DIGITS, "--input", f"data=@{image}", "--output", "pool1", "--output", "score")
    assert ran.code == exit_codes.OK
    assert [line.split()[:3] for line in ran.out.splitlines()] == [
        ["pool1", "float32", "16x4x4"],
        ["score", "float32", "10"],
    ]


def test_random_inputs_are_the_same_for_the_same_seed(ncc: Run) -> None:
    """And others for another seed."""
    first, again, other = (ncc("run", DIGITS, "--seed", seed).out for seed in (1, 1, 2))
    assert first == again != other


def test_inputs_that_are_random_are_told_behind_the_results(ncc: Run, image: Path) -> None:
    """And how to give an array; nothing is said where all are given."""
    told = "(input data is random: --input data=@x.npy gives an array)"
    assert ncc("run", DIGITS).out.splitlines()[1:] == [told]
    assert len(ncc("run", DIGITS, "--input", f"data=@{image}").out.splitlines()) == 1


def test_emit_shows_a_level_on_stdout(ncc: Run) -> None:
    """One level, or several one behind the other."""
    assert "ncnn.InnerProduct" in ncc("compile", DIGITS, "--emit=ncnn").out
    both = ncc("compile", DIGITS, "--emit=ncnn,linalg").out
    assert "ncnn.InnerProduct" in both and "linalg.generic" in both


def test_emit_shows_no_object_to_people(ncc: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor amid text; a pipe takes it alone."""
    mixed = ncc("compile", DIGITS, "--emit=obj,asm")
    assert mixed.code == exit_codes.USAGE and "an object is no text" in mixed.err and not mixed.out
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    assert ncc("compile", DIGITS, "--emit=obj").code == exit_codes.USAGE
    assert "InnerProduct" in ncc("compile", DIGITS, "--emit=ncnn").out


def test_emit_writes_every_level_into_a_folder(ncc: Run, tmp_path: Path) -> None:
    """Named after the network and the level; no draft is left behind."""
    every = ",".join(SUFFIXES)
    assert ncc("compile", DIGITS, f"--emit={every}", "-o", tmp_path).code == exit_codes.OK
    written = {path.name for path in tmp_path.iterdir()}
    assert written == {f"digits{suffix}" for suffix in SUFFIXES.values()}
    assert (tmp_path / "digits.o").read_bytes()[:4] == b"\x7fELF"


@pytest.mark.parametrize("read", ["net.param", "net.bin"])
def test_a_network_is_not_written_over(ncc: Run, tmp_path: Path, read: str) -> None:
    """Neither by what is compiled, by no other name of it either, nor by a result."""
    for suffix in (".param", ".bin"):
        shutil.copy(DIGITS.with_suffix(suffix), tmp_path / f"net{suffix}")
    (tmp_path / "link").symlink_to(tmp_path / read)
    before = (tmp_path / read).read_bytes()
    for out in (read, "link"):
        for command in (["compile", "-o"], ["compile", "--emit=param", "-o"]):
            tried = ncc(*command, tmp_path / out, tmp_path / "net.param")
            assert tried.code == exit_codes.USAGE and "not written over" in tried.err
    output = f"prob=@{tmp_path / read}"
    assert ncc("run", tmp_path / "net.param", "--output", output).code == exit_codes.USAGE
    assert (tmp_path / read).read_bytes() == before


@pytest.mark.parametrize(
    "command", [("compile", DIGITS, "-o"), ("run", DIGITS, "--output")], ids=["compile", "run"]
)
def test_a_result_that_cannot_be_written_is_told_first(
    ncc: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[object, ...]
) -> None:
    """Not when a large network has been compiled."""
    monkeypatch.setattr(front, "compile_file", None)
    monkeypatch.setattr(front, "compile", None)
    name = "prob=@" * (command[0] == "run")
    tried = ncc(*command, f"{name}{tmp_path}/nowhere/result")
    assert tried.code == exit_codes.WRONG
    assert tried.err == f"ncc: {tmp_path}/nowhere: there is no such folder\n"


def test_numbers_below_zero_are_refused(ncc: Run) -> None:
    """No generator takes such a seed; no difference is so small, or beside what is no number."""
    assert ncc("run", DIGITS, "--seed", "-1").code == exit_codes.USAGE
    for tolerance in ("-1", "nan", "small"):
        refused = ncc("verify", DIGITS, "--tolerance", tolerance)
        assert refused.code == exit_codes.USAGE and f"{tolerance!r} is no part" in refused.err


def test_a_broken_model_is_the_models_fault(ncc: Run, tmp_path: Path) -> None:
    """Exit code 1, the place in the file on stderr, nothing on stdout."""
    broken = tmp_path / "broken.param"
    broken.write_text(DIGITS.read_text().replace("Pooling ", "Pooliing "))
    outcome = ncc("compile", broken)
    assert outcome.code == exit_codes.WRONG and outcome.out == ""
    assert "broken.param:6:1" in outcome.err and "Pooling" in outcome.err


def test_a_wrong_input_is_the_callers_fault(ncc: Run, tmp_path: Path) -> None:
    """A file that is no array, and an array that does not fit: exit code 1."""
    (tmp_path / "text.npy").write_text("hello")
    assert ncc("run", DIGITS, "--input", f"data=@{tmp_path / 'text.npy'}").code == exit_codes.WRONG
    assert ncc("run", DIGITS, "--input", f"data=@{tmp_path / 'none.npy'}").code == exit_codes.WRONG
    np.save(tmp_path / "other.npy", np.zeros((1, 8, 8), np.float32))
    assert ncc("run", DIGITS, "--input", f"date=@{tmp_path / 'other.npy'}").code == exit_codes.WRONG


@pytest.mark.parametrize(
    "command", ["compile", "run", "show", "verify", "bench", "tune", "explain"]
)
def test_a_file_that_is_not_there(ncc: Run, tmp_path: Path, command: str) -> None:
    """Exit code 1, as for one that says something wrong, and its name on stderr."""
    nowhere = tmp_path / "nowhere"
    outcome = ncc(command, nowhere)
    assert outcome.code == exit_codes.WRONG and outcome.out == "" and str(nowhere) in outcome.err
    if command != "show":
        outcome = ncc(command, DIGITS, nowhere)
        assert outcome.code == exit_codes.WRONG and str(nowhere) in outcome.err
    if command == "bench":
        outcome = ncc(command, DIGITS, "--onnx", nowhere)
        assert outcome.code == exit_codes.WRONG and str(nowhere) in outcome.err


@pytest.mark.parametrize(
    "arguments",
    [
        ["compile"],
        ["compile", DIGITS, "--random-weights", "-1"],
        ["compile", DIGITS, "-O9"],
        ["compile", DIGITS, "--emit=mlir"],
        ["compile", DIGITS, "--input", "data=0x3"],
        ["run", DIGITS, "--input", "data"],
        ["explode"],
    ],
)
def test_a_wrong_command_line(ncc: Run, arguments: list[str]) -> None:
    """Exit code 2, and how to use the command on stderr."""
    outcome = ncc(*arguments)
    assert outcome.code == exit_codes.USAGE and outcome.out == "" and "Usage: ncc" in outcome.err


def test_a_compiled_file_takes_no_choices(ncc: Run, tmp_path: Path) -> None:
    """Level and target of a .ncc file are settled: asking for them is a usage error."""
    ncc("compile", DIGITS, "-o", tmp_path / "net.ncc")
    assert ncc("run", tmp_path / "net.ncc", "-O1").code == exit_codes.USAGE
    assert ncc("run", tmp_path / "net.ncc", "--threads", 1).code == exit_codes.OK


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (Unsupported("sorcery"), exit_codes.UNSUPPORTED),
        (CompilerBug("it broke"), exit_codes.BUG),
        (ZeroDivisionError("by zero"), exit_codes.BUG),
        (OSError(28, "No space left on device"), exit_codes.WRONG),
        (KeyboardInterrupt(), exit_codes.INTERRUPTED),
    ],
    ids=lambda value: type(value).__name__,
)
def test_the_exit_code_tells_whose_fault_it_is(
    ncc: Run, error: BaseException, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """3 for what is not supported, 4 for a bug of ncc, 130 for Ctrl-C."""

    def fail(*arguments: object, **options: object) -> None:
        raise error

    monkeypatch.setattr(front, "compile_file", fail)
    assert ncc("compile", DIGITS).code == code


def test_ctrl_c_amid_a_class_is_no_bug(ncc: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """While the levels are imported, Python 3.11 makes a RuntimeError of it."""

    class Interrupted:
        def __set_name__(self, owner: type, name: str) -> None:
            raise KeyboardInterrupt

    def fail(*arguments: object, **options: object) -> None:
        type("Class", (), {"member": Interrupted()})

    monkeypatch.setattr(front, "compile_file", fail)
    assert ncc("compile", DIGITS).code == exit_codes.INTERRUPTED


def test_an_unknown_target_names_the_known_ones(ncc: Run) -> None:
    """The command line is wrong, not the model."""
    outcome = ncc("compile", DIGITS, "--target", "sparc")
    assert outcome.code == exit_codes.USAGE and "avx2" in outcome.err


def test_verify_names_the_first_layer_that_differs(
    ncc: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exit code 5, the table and the verdict on stdout."""
    right = Row("c1", "Convolution", "a", (3,), 1e-7, 1e-7)
    wrong = Row("p1", "Pooling", "b", (3,), 0.5, 0.5)
    rows = (right, wrong, wrong)
    monkeypatch.setattr(verify, "verify", lambda *a, **o: Report(rows, 1e-4, None))
    outcome = ncc("verify", DIGITS)
    assert outcome.code == exit_codes.DIFFERS
    assert outcome.out.splitlines()[-1].endswith("differs: layer p1 (Pooling)")


def test_verify_can_be_read_by_programs(ncc: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """The verdict and every blob; null where a difference is no number that JSON has."""
    right = Row("c1", "Convolution", "a", (3,), 1e-7, None)
    wrong = Row("p1", "Pooling", "b", (3,), math.inf, None)
    monkeypatch.setattr(verify, "verify", lambda *a, **o: Report((right, wrong), 1e-4, "no wheel"))
    outcome = ncc("verify", DIGITS, "--json")
    assert outcome.code == exit_codes.DIFFERS
    told = json.loads(outcome.out)
    assert (told["agree"], told["first"], told["no_ncnn"]) == (False, 1, "no wheel")
    assert [blob["differs"] for blob in told["blobs"]] == [False, True]
    assert told["blobs"][1]["error"] is None
    monkeypatch.setattr(verify, "verify", lambda *a, **o: Report((right,), 1e-4, None))
    agreed = ncc("verify", DIGITS, "--json")
    assert agreed.code == exit_codes.OK and json.loads(agreed.out)["first"] is None


@pytest.mark.parametrize(
    "command, option, begun, proposed",
    [
        ("run", "--target", "avx5", ["avx512vnni", "avx512"]),
        ("compile", "--emit", "l", ["linalg", "loops", "llvm", "lib"]),
        ("compile", "--emit", "asm,l", ["asm,linalg", "asm,loops", "asm,llvm"]),
        ("optimize", "--without", "eliminate_d", None),
        ("explain", "--pass", "eliminate_d", None),
    ],
)
def test_a_shell_completes_words(
    command: str, option: str, begun: str, proposed: list[str] | None
) -> None:
    """Of targets, of levels behind levels that are there, of passes."""
    shell = BashComplete(cli.ncc, {}, "ncc", "_NCC_COMPLETE")
    found = [item.value for item in shell.get_completions([command, option], begun)]
    passes = ["eliminate_dead_layer", "eliminate_deepcopy", "eliminate_dropout"]
    assert found == (passes if proposed is None else proposed)


@pytest.mark.parametrize(
    ("what", "most"), [("import ncc", 20), ("from ncc.compiler import cli; cli.run(['-h'])", 100)]
)
def test_help_and_import_are_quick(what: str, most: int) -> None:
    """By the modules that they import, of which there are as many on a busy machine."""
    seen = f"import sys; {what}; print(*sys.modules, file=sys.stderr)"
    found = []
    for text in ("import sys; print(*sys.modules, file=sys.stderr)", seen):
        done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True)
        found.append(set(done.stderr.split()))
    imported = found[1] - found[0]
    assert "ncc" in imported and len(imported) < most
    assert not imported & {"numpy", "xdsl", "llvmlite", "rich"}


def test_a_command_that_is_not_installed_whole_says_what_is_missing() -> None:
    """Beside numpy alone a model can be loaded in Python, but no command runs."""
    text = "import sys; sys.modules['click'] = None; from ncc.__main__ import main; main()"
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True)
    assert done.returncode == exit_codes.WRONG
    assert done.stderr.startswith("ncc: the command needs click, which is not installed")
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("missing", "call"), [("llvmlite", f"compile({str(DIGITS)!r})"), ("xdsl", "optimize")]
)
def test_python_says_so_too(missing: str, call: str) -> None:
    """By an error of ncc."""
    text = f"import sys; sys.modules[{missing!r}] = None; import ncc; ncc.{call}"
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True)
    name = call.partition("(")[0]
    *_, last = done.stderr.splitlines()
    assert last.startswith(f"ncc.runtime.errors.NccError: ncc.{name} needs {missing}, which is not")


def test_loading_a_model_imports_no_compiler(ncc: Run, tmp_path: Path) -> None:
    """Neither xDSL nor LLVM is there when a .ncc file runs."""
    ncc("compile", DIGITS, "-o", tmp_path / "net.ncc")
    text = (
        "import sys, numpy, ncc\n"
        f"model = ncc.load({str(tmp_path / 'net.ncc')!r})\n"
        "model(numpy.zeros((1, 8, 8), numpy.float32))\n"
        "print([name for name in sys.modules if name.startswith(('xdsl', 'llvm', 'ncc.compiler'))])"
    )
    done = subprocess.run([sys.executable, "-c", text], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("command", ["compile", "run", "verify"])
def test_open_shapes_are_asked_for(ncc: Run, tmp_path: Path, command: str) -> None:
    """A file without shapes is the network's right: the message says which option is missing."""
    path = tmp_path / "net.param"
    path.write_text("7767517\n2 2\nInput data 0 1 data\nReLU relu 1 1 data out\n")
    refused = ncc(command, path)
    assert refused.code == exit_codes.WRONG
    assert "'data'" in refused.err and "--shape data=3x224x224" in refused.err
    some = exit_codes.OK if command == "compile" else exit_codes.WRONG  # for all sizes
    assert ncc(command, path, "--shape", "data=3x?").code == some
    assert ncc(command, path, "--shape", "data=3x4").code == exit_codes.OK


def test_the_level_of_an_open_shape_is_refused_in_the_file(ncc: Run, tmp_path: Path) -> None:
    """--emit and explain, which do not feed anything, point at the Input."""
    path = tmp_path / "net.param"
    path.write_text("7767517\n2 2\nInput data 0 1 data\nReLU relu 1 1 data out\n")
    for refused in (ncc("compile", path, "--emit=linalg"), ncc("explain", path)):
        lines = refused.err.splitlines()
        assert "      ^^^^" in lines[lines.index("  Input data 0 1 data") + 1]
        assert "to go on: --shape data=3x224x224" in lines[-1]


def test_bench_shows_where_time_goes(ncc: Run) -> None:
    """As tables for people; --timing tells the same of a compilation."""
    shown = ncc("bench", DIGITS, "--rounds", 1)
    assert shown.code == exit_codes.OK
    assert "ms at best" in shown.out and "of bound" in shown.out and "conv1" in shown.out
    assert "ncnn" not in shown.out


@pytest.mark.slow
def test_bench_can_be_read_by_programs(ncc: Run) -> None:
    """One JSON object on stdout, with everything that the tables show."""
    shown = ncc("bench", DIGITS, "--rounds", 1, "--json", "--peers")
    assert shown.code == exit_codes.OK
    told = json.loads(shown.out)
    assert told["model"] == "digits.param" and told["ms"]["min"] > 0 and told["peak_gflops"] > 0
    assert any("conv1" in layer["layers"] for layer in told["layers"])
    assert [peer["system"] for peer in told["peers"]][:2] == ["ncc", "ncnn"]


def test_compile_tells_where_its_time_went(
    ncc: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A line a stage, of those that there were: a model in the cache would leave out most."""
    monkeypatch.setenv("NCC_CACHE", "off")
    told = ncc("compile", DIGITS, "-o", tmp_path / "net.ncc", "--timing")
    assert told.code == exit_codes.OK
    assert [line for line in told.out.splitlines() if line.endswith(" ms  read")]


def test_help_begins_with_what_is_needed_first(ncc: Run) -> None:
    """Commands in the order of use, each told in one whole sentence."""
    lines = ncc("--help").out.partition("Commands:")[2].splitlines()
    told = [line.split(maxsplit=1) for line in lines if line.strip()]
    assert [name for name, _ in told] == [
        "compile", "run", "show", "verify", "bench", "tune", "report", "optimize", "explain",
    ]  # fmt: skip
    assert all(text.endswith(".") and not text.endswith("...") for _, text in told)


def test_a_file_without_a_command(ncc: Run, tmp_path: Path) -> None:
    """The command is what is missing; what is no file is a command that is misspelled."""
    (tmp_path / "net.ncc").touch()
    for path, command in ((DIGITS, "compile"), (tmp_path / "net.ncc", "run")):
        told = ncc(path)
        assert told.code == exit_codes.USAGE
        assert f"is a file and no command; did you mean ncc {command} {path}?" in told.err
    assert "No such command 'comple'" in ncc("comple").err


@pytest.mark.parametrize("word", ["help", "version"])
def test_help_is_an_option(ncc: Run, word: str) -> None:
    """And no command that is misspelled."""
    told = ncc(word)
    assert told.code == exit_codes.USAGE and f"did you mean ncc --{word}?" in told.err
    assert ncc(f"--{word}").code == exit_codes.OK


def test_slips_are_met_with_a_hand(ncc: Run, tmp_path: Path) -> None:
    """A forgotten @, a compiled file where the network is wanted, weights that are not there."""
    assert "did you mean data=@x.npy?" in ncc("run", DIGITS, "--input", "data=x.npy").err
    assert "did you mean prob=@y.npy?" in ncc("run", DIGITS, "--output", "prob=y.npy").err
    assert "whose name -o tells" in ncc("compile", DIGITS, "-o", "-").err
    assert ncc("compile", DIGITS, "-o", tmp_path / "net.ncc").code == exit_codes.OK
    for command in ("compile", "verify", "bench", "explain"):
        refused = ncc(command, tmp_path / "net.ncc")
        assert refused.code == exit_codes.WRONG and "this is a compiled model" in refused.err
    (tmp_path / "net.param").write_bytes(DIGITS.read_bytes())
    assert "--random-weights 0" in ncc("compile", tmp_path / "net.param").err


@pytest.fixture
def moving(tmp_path: Path) -> Path:
    """A network that only moves its input: the elements may be of any type."""
    path = tmp_path / "moving.param"
    path.write_text("7767517\n2 2\nInput x 0 1 x 0=6\nReshape r 1 1 x y 0=3 1=2\n")
    path.with_suffix(".bin").touch()
    return path


def test_inputs_have_the_types_that_are_asked_for(ncc: Run, moving: Path) -> None:
    """Every command that compiles knows the option."""
    compiled = ncc("compile", moving, "--type", "x=int8")
    assert "input   x  int8 6" in compiled.out and "output  y  int8 2x3" in compiled.out
    np.save(moving.with_name("x.npy"), np.arange(6, dtype=np.int32))
    given = ["--type", "x=int32", "--input", f"x=@{moving.with_name('x.npy')}"]
    assert ncc("run", moving, *given).out.startswith("y  int32 2x3  min 0")
    assert ncc("verify", moving, *given).code == exit_codes.OK
    measured = ncc("bench", moving, *given, "--rounds", 1, "--json")
    assert json.loads(measured.out)["model"] == "moving.param"


def test_no_such_type(ncc: Run, moving: Path) -> None:
    """Whether the option cannot be read, or no blob has such elements, or no input that name."""
    assert ncc("run", moving, "--type", "int8").code == exit_codes.USAGE
    refused = ncc("run", moving, "--type", "x=int9")
    assert refused.code == exit_codes.USAGE
    assert "'int9' is none of float32, float16, bfloat16, int8, int32" in refused.err
    assert ncc("run", moving, "--type", "data=int8").code == exit_codes.WRONG
    ncc("compile", moving)
    assert ncc("run", moving.with_suffix(".ncc"), "--type", "x=int8").code == exit_codes.USAGE


@pytest.mark.parametrize("stdout", some(["full", "file"], usual=1))
def test_the_process_ends_with_all_printed_and_its_code(tmp_path: Path, stdout: str) -> None:
    """It takes nothing apart when it ends; what could not be printed is an error all the same."""
    out = str(tmp_path / "net.ncc")
    command = [sys.executable, "-m", "ncc", "compile", str(DIGITS), "-o", out]
    printed = tmp_path / "printed" if stdout == "file" else Path("/dev/full")
    with printed.open("w") as file:
        done = subprocess.run(command, stdout=file, stderr=subprocess.PIPE, timeout=600)
    assert (tmp_path / "net.ncc").exists()
    if stdout == "file":
        assert done.returncode == exit_codes.OK
        assert printed.read_text().endswith("output  prob  float32 10\n")
    else:
        assert done.returncode != exit_codes.OK
        assert b"No space left" in done.stderr


@pytest.mark.parametrize("closed", some([1, 2], usual=1))
def test_a_process_without_a_stream_compiles(tmp_path: Path, closed: int) -> None:
    """As who has no terminal may begin it; what would have been printed is lost."""
    out = str(tmp_path / "net.ncc")
    command = [sys.executable, "-m", "ncc", "compile", str(DIGITS), "-o", out]
    done = subprocess.run(["sh", "-c", f'exec "$@" {closed}>&-', "sh", *command], timeout=600)
    assert done.returncode == exit_codes.OK
    assert (tmp_path / "net.ncc").exists()


WAITING = """
import sys, threading
from ncc.compiler import cli
from ncc.compiler.commands.exit_codes import INTERRUPTED

def interrupted(*_):
    threading.Thread(target=threading.Event().wait).start()
    return INTERRUPTED

cli.run = interrupted
sys.argv = ["ncc", "verify"]
cli.main()
"""


def test_what_is_interrupted_does_not_wait_for_its_threads() -> None:
    """Weights of a large network are packed for seconds; here a thread never ends."""
    done = subprocess.run([sys.executable, "-c", WAITING], timeout=600)
    assert done.returncode == exit_codes.INTERRUPTED
