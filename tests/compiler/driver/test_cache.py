"""Kernels that were compiled before: when they are found, and that nothing else changes."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import ncc
from ncc.compiler.diagnostics import CacheWarning
from ncc.compiler.driver import objects
from ncc.compiler.driver.assemble import artifact_of
from ncc.compiler.driver.cache import Cache, cache_of
from ncc.compiler.driver.keys import kernel_key
from ncc.compiler.driver.tuned import schedules_for
from ncc.compiler.llvm.object_code import emit_object
from ncc.compiler.options import Options
from ncc.compiler.pipeline import Compilation
from ncc.compiler.target import AVX2, AVX512, ONE_UNIT, TWO_UNITS, Core, Target
from ncc.runtime.draft import DRAFT
from ncc.runtime.errors import InputError

PARAM = """7767517
5 5
Input            data   0 1 data 0=12 1=10 2=4
Convolution      conv   1 1 data a 0=8 1=3 4=1 5=1 6=288 9=1
Softmax          soft   1 1 a b 0=0 1=1
Pooling          pool   1 1 b c 0=0 1=2 2=2
Convolution      last   1 1 c d 0=5 1=1 5=1 6=40
"""

KEY = kernel_key("a kernel", AVX2)


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "kernels")


def entries(cache: Cache) -> list[Path]:
    return sorted(cache.folder.glob("*.o"))


def keys(count: int) -> list[str]:
    return [kernel_key(f"kernel {number}", AVX2) for number in range(count)]


# --- entries ----------------------------------------------------------------------------------


def test_what_was_put_is_found(cache: Cache) -> None:
    """By its key only, by another cache on the same folder too, and also when it is empty."""
    assert cache.get(KEY) is None
    cache.put(KEY, b"code")
    cache.put(kernel_key("another", AVX2), b"")
    assert cache.get(KEY) == b"code"
    assert Cache(cache.folder).get(KEY) == b"code"
    assert cache.get(kernel_key("another", AVX2)) == b""
    assert cache.get(kernel_key("a third", AVX2)) is None
    assert len(list(cache.folder.iterdir())) == 2, "nothing is left over"


@pytest.mark.parametrize(
    "damage",
    [
        lambda held: held[:-1],
        lambda held: held[:10],
        lambda held: b"",
        lambda held: held + b"\0",
        lambda held: held[:-1] + bytes([held[-1] ^ 1]),
        lambda held: b"\x7fELF" + held[4:],
        lambda held: b"not ours at all, but longer than any header could ever be" * 3,
    ],
    ids=["short", "header", "empty", "long", "bit", "magic", "foreign"],
)
def test_broken_entry_is_rewritten(cache: Cache, damage: Callable[[bytes], bytes]) -> None:
    """It counts as absent, and the next one put in its place is found."""
    cache.put(KEY, b"code")
    (path,) = entries(cache)
    path.write_bytes(damage(path.read_bytes()))
    assert cache.get(KEY) is None
    cache.put(KEY, b"code")
    assert cache.get(KEY) == b"code"


def test_entry_of_another_key_is_absent(cache: Cache) -> None:
    """A file that was copied to another name is not the code of that name."""
    cache.put(KEY, b"code")
    (path,) = entries(cache)
    other = kernel_key("another", AVX2)
    (cache.folder / f"{other}.o").write_bytes(path.read_bytes())
    assert cache.get(other) is None


def test_cores_share_no_code(cache: Cache, tmp_path: Path) -> None:
    """Of one target, which a division may suit or not: what is kept for one is not the other's."""
    param = tmp_path / "swish.param"
    param.write_text("7767517\n2 2\nInput x 0 1 x 0=64\nSwish s 1 1 x y\n")

    def code(core: Core, cache: Cache | None) -> tuple[bytes, ...]:
        options = Options(target=replace(AVX512, core=core))
        return artifact_of(Compilation(param, None, options), cache).objects

    alone = [code(core, None) for core in (ONE_UNIT, TWO_UNITS)]
    assert alone[0] != alone[1]
    assert [code(core, cache) for core in (ONE_UNIT, TWO_UNITS)] == alone


# --- size -------------------------------------------------------------------------------------


def test_least_recently_used_go_first(tmp_path: Path) -> None:
    """Down to three quarters of the limit; a use counts as much as a new entry."""
    cache = Cache(tmp_path, limit=10_000)
    for age, key in enumerate(keys(12)):
        cache.put(key, bytes(1000))
        old = time.time() - 1_000_000 + age
        os.utime(cache._path(key), (old, old))
    assert cache.get(keys(12)[0]) is not None
    cache.trim()
    left = [number for number, key in enumerate(keys(12)) if cache.get(key) is not None]
    assert left == [0, 6, 7, 8, 9, 10, 11]


def test_only_what_a_cache_has_made_is_deleted(tmp_path: Path) -> None:
    """Also what another version keeps, and a draft; but no file of the user."""
    cache = Cache(tmp_path, limit=10_000)
    ours = [f"{KEY}.manifest", f"{KEY}.ncc", f".0123456789abcdef{DRAFT}"]
    others = {"net.ncc", "net.o", "notes", f"{KEY}.onnx"}
    for name in (*ours, *others):
        (tmp_path / name).write_bytes(bytes(4000))
        os.utime(tmp_path / name, (0, 0))
    cache.put(KEY, b"code")
    cache.trim()
    left = {path.name for path in tmp_path.iterdir()}
    assert left >= {*others, f"{KEY}.o"}
    assert len(left.intersection(ours)) == 1


def test_nothing_is_deleted_below_the_limit(cache: Cache) -> None:
    """And a cache that has not grown does not even look."""
    for key in keys(5):
        cache.put(key, bytes(1000))
    cache.trim()
    assert len(entries(cache)) == 5
    small = Cache(cache.folder, limit=1)
    small.trim()
    assert len(entries(cache)) == 5
    small.put(KEY, b"code")
    small.trim()
    assert not entries(cache)


def test_folder_is_listed_when_enough_was_added(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By whatever processes: a sixteenth of the limit, and at first, since all may be there."""
    listed = list[Path]()
    files = Cache.files

    def noted(cache: Cache) -> Iterator[tuple[str, float, int]]:
        listed.append(cache.folder)
        return files(cache)

    monkeypatch.setattr(Cache, "files", noted)
    lists = []
    for key in keys(40):
        cache = Cache(tmp_path, limit=16 * 5000)
        cache.put(key, bytes(1000))
        cache.trim()
        lists.append(len(listed))
    assert lists[0] == 1
    assert 5 <= lists[-1] <= 40 * 1100 // 5000
    (tmp_path / "added").write_text("what is no number")
    cache.put(KEY, b"code")
    cache.trim()
    assert len(listed) == lists[-1] + 1


def test_what_is_not_listed_stays_below_the_limit(tmp_path: Path) -> None:
    """However little is added at a time."""
    limit = 16 * 5000
    for number in range(150):
        cache = Cache(tmp_path, limit=limit)
        cache.put(f"{number:064x}", bytes(1000))
        cache.trim()
        assert sum(size for _, _, size in cache.files()) <= limit
    assert len(entries(cache)) > 40


# --- the folder -------------------------------------------------------------------------------


def test_environment_says_where_and_whether(tmp_path: Path) -> None:
    """NCC_CACHE_DIR names the folder, NCC_CACHE=off wants none; else the user's cache folder."""
    named = cache_of({"NCC_CACHE_DIR": str(tmp_path)})
    assert named is not None and named.folder == tmp_path
    usual = cache_of({})
    assert usual is not None and usual.folder.parts[-2:] == ("ncc", "kernels")
    assert cache_of({"NCC_CACHE": "off", "NCC_CACHE_DIR": str(tmp_path)}) is None
    assert cache_of({"NCC_CACHE": "0"}) is None
    assert cache_of({"NCC_CACHE": "on"}) is not None


def test_environment_that_says_nothing_known_is_refused() -> None:
    """The error names the variable, its values, and what was found."""
    with pytest.raises(InputError, match="NCC_CACHE .* expected on, off, kernels, found 'bogus'"):
        cache_of({"NCC_CACHE": "bogus"})
    with pytest.raises(InputError, match="NCC_TUNED .* expected on, off, found 'kernels'"):
        schedules_for(Options(), {"NCC_TUNED": "kernels"})


def test_folder_that_cannot_be_made_warns_once(tmp_path: Path) -> None:
    """Compilation goes on without keeping anything."""
    (tmp_path / "file").write_text("in the way")
    cache = Cache(tmp_path / "file" / "kernels")
    with pytest.warns(CacheWarning, match="kernels: warning: what is compiled is not kept") as seen:
        for key in keys(3):
            cache.put(key, b"code")
    assert len(seen) == 1
    assert cache.get(KEY) is None
    cache.trim()


# --- compilations -----------------------------------------------------------------------------


@pytest.fixture
def network(tmp_path: Path, own_cache: Path) -> Path:
    """A small network, and a cache of its own."""
    path = tmp_path / "net.param"
    path.write_text(PARAM)
    return path


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The LLVM texts that became machine code since the test began."""
    texts: list[str] = []

    def emit(text: str, target: Target, effort: int) -> bytes:
        texts.append(text)
        return emit_object(text, target, effort)

    monkeypatch.setattr(objects, "emit_object", emit)
    return texts


def test_warm_compilation_makes_no_code(network: Path, made: list[str]) -> None:
    """And the model is the same one, bit by bit: objects, weights, results."""
    cold = ncc.compile(network, random_weights=1)
    assert len(made) == len(cold.artifact.objects) > 4
    made.clear()
    warm = ncc.compile(network, random_weights=1)
    assert not made
    assert warm.artifact.objects == cold.artifact.objects
    assert np.array_equal(np.asarray(warm.artifact.weights), np.asarray(cold.artifact.weights))
    x = np.random.default_rng(0).standard_normal((4, 10, 12)).astype(np.float32)
    assert cold(x).tobytes() == warm(x).tobytes()


def test_cache_changes_no_bit(
    network: Path, made: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Code from the cache, code just made and code made without any cache are the same."""
    kept = ncc.compile(network, random_weights=1)
    monkeypatch.setenv("NCC_CACHE", "off")
    made.clear()
    fresh = ncc.compile(network, random_weights=1)
    assert len(made) == len(fresh.artifact.objects)
    assert fresh.artifact.objects == kept.artifact.objects


def test_only_new_kernels_are_compiled(network: Path, made: list[str]) -> None:
    """One more layer is one more kernel, and another entry point, behind it."""
    ncc.compile(network, random_weights=1)
    made.clear()
    longer = PARAM.replace("5 5\n", "6 6\n") + "TanH tanh 1 1 d e\n"
    network.write_text(longer)
    ncc.compile(network, random_weights=1, opt_level=1)
    made.clear()
    network.write_text(longer.replace("TanH", "Sigmoid"))
    ncc.compile(network, random_weights=1, opt_level=1)
    assert [text.count("\ndefine void @run(") for text in made] == [0, 1]
    assert "@pointwise_" in made[0]


def test_another_target_is_compiled_again(network: Path, made: list[str]) -> None:
    """Nothing of one target serves another one."""
    ncc.compile(network, random_weights=1, target="avx2")
    before = len(made)
    ncc.compile(network, random_weights=1, target="baseline")
    assert len(made) > before


def test_broken_folder_is_healed(network: Path, made: list[str], tmp_path: Path) -> None:
    """Entries that were cut short are compiled anew, silently, and then serve again."""
    cold = ncc.compile(network, random_weights=1)
    files = sorted((tmp_path / "kernels").glob("*.o"))
    assert len(files) == len(cold.artifact.objects)
    for file in (tmp_path / "kernels").glob("*.[on]*"):
        file.write_bytes(file.read_bytes()[:-7])
    made.clear()
    assert ncc.compile(network, random_weights=1).artifact.objects == cold.artifact.objects
    assert len(made) == len(files)
    made.clear()
    assert ncc.compile(network, random_weights=1).artifact.objects == cold.artifact.objects
    assert not made


@pytest.mark.slow
def test_two_processes_at_once(network: Path, tmp_path: Path) -> None:
    """Both compile, neither disturbs the other, and every entry that they leave is whole."""
    code = (
        "import ncc, numpy, sys\n"
        "m = ncc.compile(sys.argv[1], random_weights=1)\n"
        "print(m(numpy.ones((4, 10, 12), numpy.float32)).tobytes().hex())"
    )
    command = [sys.executable, "-c", code, str(network)]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    printed = [process.communicate(timeout=600)[0] for process in running]
    assert [process.returncode for process in running] == [0, 0]
    assert printed[0] == printed[1]
    model = ncc.compile(network, random_weights=1)
    assert model(np.ones((4, 10, 12), np.float32)).tobytes().hex() == printed[0].strip()
    cache = Cache(tmp_path / "kernels")
    assert all(cache.get(path.stem) is not None for path in entries(cache))
    assert not list(cache.folder.glob(f"*{DRAFT}"))
