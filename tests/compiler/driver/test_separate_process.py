"""Compilations in a process of ncc's own: what the user's process sees of them."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ncc
from ncc.compiler.driver import assemble, separate_process
from ncc.compiler.driver import compile as front
from ncc.compiler.driver.keys import model_key
from ncc.compiler.driver.separate_process import Question
from ncc.compiler.driver.thin_model import ThinModel
from ncc.compiler.options import Options
from tests.compiler.driver.processes import has_ended, is_at_work

NETWORK = """7767517
3 3
Input            data   0 1 data 0=6 1=5 2=4
Convolution      conv   1 1 data a 0=8 1=3 4=1 5=1 6=288
ReLU             relu   1 1 a b
"""
SHAPES = (8, 5, 6)


@pytest.fixture
def network(tmp_path: Path, own_cache: Path) -> Path:
    """A network with its weights, and a cache of its own."""
    path = tmp_path / "net.param"
    path.write_text(NETWORK)
    values = np.random.default_rng(0).standard_normal(288 + 8).astype("<f4")
    path.with_suffix(".bin").write_bytes(bytes(4) + values.tobytes())
    return path


@pytest.fixture
def levels_are_not_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """As it is in the process of a user; in that of the tests they are."""
    monkeypatch.setattr(separate_process, "LEVELS", "a package that nobody has")


def user(program: str, *arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    """A user's process, whose program may ask what is loaded."""
    text = f"""
import sys, warnings
import numpy as np
import ncc
path = sys.argv[1]
def loaded(): return any(name in sys.modules for name in ("xdsl", "llvmlite"))
{textwrap.dedent(program)}"""
    command = [sys.executable, "-c", text, *map(str, arguments)]
    return subprocess.run(
        command, env={**os.environ, **environment}, capture_output=True, text=True, timeout=600
    )


def said(program: str, *arguments: object, **environment: str) -> str:
    """What such a program prints; nothing else comes out."""
    done = user(program, *arguments, **environment)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.strip()


COMPILED = "x = ncc.compile(path); print(loaded(), x(np.ones((4, 5, 6), 'f')).shape)"


def question(network: Path, **options: object) -> Question:
    chosen = Options.of(**options)  # type: ignore[arg-type]
    key = model_key(network, None, chosen)
    assert key is not None
    return Question.of(network, None, chosen, key)


def test_a_users_process_loads_no_compiler(network: Path, tmp_path: Path) -> None:
    """Neither when it compiles for the first time, nor from the cache."""
    assert said(COMPILED, network) == f"False {SHAPES}"
    (model,) = (tmp_path / "kernels").glob("*.ncc")
    made = model.stat().st_ino
    assert said(COMPILED, network) == f"False {SHAPES}"
    assert model.stat().st_ino == made


@pytest.mark.slow
def test_another_process_begins_before_numpy_is_imported(network: Path) -> None:
    """Both import at once, each on a core; a pool of workers is for the other one alone."""
    program = """
import subprocess, sys
import ncc
class Noted(subprocess.Popen):
    def __init__(self, *args, **kwargs):
        print([name for name in ("numpy", "multiprocessing") if name in sys.modules])
        super().__init__(*args, **kwargs)
subprocess.Popen = Noted
print("numpy" in sys.modules, ncc.compile(sys.argv[1]).inputs[0].name)
"""
    command = [sys.executable, "-c", program, str(network)]
    assert subprocess.check_output(command, text=True) == "[]\nFalse data\n"


@pytest.mark.usefixtures("levels_are_not_here")
@pytest.mark.parametrize("switch", ["off", "kernels"])
def test_a_process_compiles_itself_where_no_model_is_kept(
    network: Path, monkeypatch: pytest.MonkeyPatch, switch: str
) -> None:
    """Each time would take another process."""
    monkeypatch.setenv("NCC_CACHE", switch)
    monkeypatch.setattr(separate_process, "ask", None)
    assert ncc.compile(network)(np.ones((4, 5, 6), np.float32)).shape == SHAPES


def test_a_process_compiles_itself_that_has_the_levels(network: Path) -> None:
    """Layers of its own may be among them, which no other process knows."""
    assert said("import ncc.layers; ncc.compile(path); print(len(sys.argv))", network) == "2"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(separate_process, "ask", None)
        ncc.compile(network)


@pytest.mark.parametrize(
    "python", [None, "", "/usr/sbin/server", "/nowhere/python3", "/bin/python"]
)
@pytest.mark.usefixtures("levels_are_not_here")
def test_a_process_compiles_itself_that_has_no_interpreter(
    network: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, python: str | None
) -> None:
    """Python is embedded, or gone, or another one."""
    broken = tmp_path / "bin/python"
    broken.parent.mkdir()
    broken.write_text("#!/bin/sh\nexit 3\n")
    broken.chmod(0o755)
    found = str(broken) if python == "/bin/python" else python
    monkeypatch.setattr(sys, "executable", found)
    assert ncc.compile(network)(np.ones((4, 5, 6), np.float32)).shape == SHAPES


@pytest.mark.usefixtures("levels_are_not_here")
def test_the_model_is_what_this_process_makes(network: Path) -> None:
    """Code, weights and signature, whoever compiles."""
    options: dict[str, object] = {"opt_level": 1, "num_threads": 2, "outputs": ["a", "b"]}
    answer = separate_process.ask(question(network, **options))
    assert answer is not None and not isinstance(answer.made, ncc.NccError)
    thin, by_files_alone = answer.made
    found = thin.artifact()
    assert by_files_alone
    here = front.compile_with(network, None, Options.of(**options, tuned=False)).artifact  # type: ignore[arg-type]
    for name in ("objects", "inputs", "outputs", "info", "arena_bytes", "threads", "target"):
        assert getattr(found, name) == getattr(here, name)
    assert bytes(found.weights) == bytes(here.weights)


@pytest.mark.slow
def test_files_are_named_as_they_are_here(network: Path) -> None:
    """Relative to where this process works, by the ncc that it has, wherever it has this from."""
    program = """
    import os
    os.chdir(os.path.dirname(path))
    sys.path[:] = [place for place in sys.path if not os.path.exists(place + "/ncc")]
    print(ncc.compile("net.param")(np.ones((4, 5, 6), 'f')).shape, loaded())
    """
    assert said(program, network) == f"{SHAPES} False"


def test_errors_are_those_of_this_process(network: Path) -> None:
    """With the line and all that they carry."""
    network.write_text(NETWORK.replace("Convolution ", "Convolutoin "))
    program = """
    try: ncc.compile(path)
    except ncc.ModelError as error: print(error, error.problems[0].suggestion, loaded())
    """
    with pytest.raises(ncc.ModelError) as found:
        ncc.compile(network)
    assert said(program, network) == f"{found.value} Convolution False"


@pytest.mark.slow
def test_warnings_are_shown_by_this_process(network: Path) -> None:
    """At the line that compiles, as its filters have it."""
    with network.with_suffix(".bin").open("ab") as file:
        file.write(b"123")
    program = """
    ncc.compile(path)
    warnings.simplefilter("error", ncc.ModelWarning)
    try: ncc.compile(path)
    except ncc.ModelWarning: print(loaded())
    """
    done = user(program, network)
    assert (done.returncode, done.stdout) == (0, "False\n")
    assert "<string>:8: ModelWarning: " in done.stderr and "3 bytes" in done.stderr


@pytest.mark.slow
def test_open_shapes_are_compiled_here(network: Path) -> None:
    """What another process finds out once is known from then on."""
    network.write_text(NETWORK.replace("0=6 1=5 2=4", ""))
    program = """
    from ncc.compiler.driver import separate_process
    asked, ask = [], separate_process.ask
    separate_process.ask = lambda question: asked.append(question) or ask(question)
    model = ncc.compile(path)
    print(len(asked))
    """
    run = "print(model(np.ones((4, 5, 6), 'f')).shape)"
    assert said(program + run, network) == f"1\n{SHAPES}"
    assert said(program, network) == "0"


@pytest.mark.usefixtures("levels_are_not_here")
def test_other_files_are_no_answer(network: Path) -> None:
    """They have changed since the question, or the process has another ncc."""
    asked = question(network)
    network.write_text(NETWORK + "\n")
    assert separate_process.ask(asked) is None


@pytest.mark.usefixtures("levels_are_not_here")
@pytest.mark.slow
def test_weights_that_change_meanwhile_are_no_answer(
    network: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was looked at of them is looked at again before they are packed."""
    compiled: list[object] = []
    whole = assemble.assemble

    def noted(*given: Any) -> Any:
        compiled.append(given)
        return whole(*given)

    monkeypatch.setattr(assemble, "assemble", noted)
    monkeypatch.setattr(ThinModel, "holds", False)
    ncc.compile(network)
    assert len(compiled) == 1


@pytest.mark.slow
def test_a_cache_that_cannot_be_written_is_no_obstacle(network: Path) -> None:
    """The answer does not come through it; the user is told, once."""
    done = user(COMPILED, network, NCC_CACHE_DIR="/proc/nowhere")
    assert (done.returncode, done.stdout) == (0, f"False {SHAPES}\n")
    assert done.stderr.count("<string>:7: CacheWarning: ") == 1


@pytest.mark.slow
def test_threads_and_processes_compile_at_once(network: Path) -> None:
    """Each has a process of its own, and no handle that a program has closed is missed."""
    program = """
    import os
    from concurrent.futures import ThreadPoolExecutor
    from multiprocessing import get_context
    def shape(n): return ncc.compile(path, opt_level=n)(np.ones((4, 5, 6), 'f')).shape[0], loaded()
    os.close(0)
    with ThreadPoolExecutor(2) as threads: found = [*threads.map(shape, (2, 2))]
    with get_context("fork").Pool(1) as pool: found += pool.map(shape, (0,))
    print({*found})
    """
    assert said(program, network) == "{(8, False)}"


def test_an_interruption_ends_the_process(network: Path) -> None:
    """So does the end of the user's, however that comes."""
    program = """
    import os, signal
    from ncc.compiler.driver import separate_process
    sys.path.append(sys.argv[3])
    from tests.compiler.driver.processes import children
    def interrupted(answers):
        print(*children(), flush=True)
        os.kill(os.getpid(), getattr(signal, sys.argv[2]))
        answers.read()
    separate_process._answered = interrupted
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it
    try: ncc.compile(path)
    except KeyboardInterrupt: print(children())
    """
    root = Path(__file__).parents[3]
    child, left = user(program, network, "SIGINT", root).stdout.splitlines()
    assert left == "set()" and not is_at_work(child)
    killed = user(program, network, "SIGKILL", root)
    assert killed.returncode < 0 and has_ended(killed.stdout.strip())
