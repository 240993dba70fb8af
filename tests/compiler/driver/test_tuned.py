"""The file of tuned schedules: whose lines count, and that none is lost."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path

import pytest

from ncc.compiler.driver import tuned
from ncc.compiler.driver.cache import FOLDER_VARIABLE, SWITCH_VARIABLE, Cache
from ncc.compiler.driver.tuned import TunedSchedules, schedules_for, tuned_file
from ncc.compiler.options import Options
from ncc.compiler.target import AVX2, AVX512
from ncc.runtime import cpu
from ncc.runtime.errors import InputError

OPTIONS = Options(target=AVX512)


def test_what_is_added_is_read(tmp_path: Path) -> None:
    """The newest for each signature; without a file there is nothing."""
    kept = TunedSchedules(tmp_path / "new", AVX512)
    assert kept.read() == {}
    kept.add({"a": "one", "b": "two"})
    kept.add({"b": "three"})
    assert TunedSchedules(tmp_path / "new", AVX512).read() == {"a": "one", "b": "three"}
    assert sorted(path.name for path in (tmp_path / "new").iterdir() if path.suffix != ".lock") == [
        "tuned.txt"
    ]


def test_only_lines_for_this_machine_target_and_compiler_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of other machines and targets stay; those of other compilers until theirs is found."""
    TunedSchedules(tmp_path, AVX512).add({"a": "here"})
    assert TunedSchedules(tmp_path, AVX2).read() == {}
    with monkeypatch.context() as patch:
        patch.setattr(cpu, "model", lambda: "another CPU")
        assert TunedSchedules(tmp_path, AVX512).read() == {}
        TunedSchedules(tmp_path, AVX512).add({"a": "there"})
    assert TunedSchedules(tmp_path, AVX512).read() == {"a": "here"}
    monkeypatch.setattr(tuned, "generator_version", lambda: "another compiler")
    newer = TunedSchedules(tmp_path, AVX512)
    assert newer.read() == {}
    newer.add({"a": "newer"})
    assert newer.read() == {"a": "newer"}
    assert sorted(line.split("\t")[-1] for line in newer.path.read_text().splitlines()) == [
        "newer",
        "there",
    ]


def test_a_line_that_cannot_be_read_counts_for_nothing(tmp_path: Path) -> None:
    """The others do."""
    kept = TunedSchedules(tmp_path, AVX512)
    kept.add({"a": "one"})
    kept.path.write_bytes(b"\xff\xfe junk\n\n" + kept.path.read_bytes() + b"b\tcut sho")
    assert kept.read() == {"a": "one"}


def test_a_folder_that_is_none_holds_nothing(tmp_path: Path) -> None:
    """As where nothing was tuned: a compilation goes on."""
    (tmp_path / "file").write_text("")
    assert TunedSchedules(tmp_path / "file", AVX512).read() == {}


def test_several_writers_lose_nothing(tmp_path: Path) -> None:
    """What each of them found is there in the end."""
    writers = [
        threading.Thread(target=TunedSchedules(tmp_path, AVX512).add, args=({str(n): "x"},))
        for n in range(20)
    ]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert TunedSchedules(tmp_path, AVX512).read() == {str(n): "x" for n in range(20)}


def test_eviction_of_kernels_leaves_the_file(tmp_path: Path) -> None:
    """It is small, and was not made in a moment."""
    TunedSchedules(tmp_path, AVX512).add({"a": "one"})
    cache = Cache(tmp_path, limit=1)
    cache.put("0" * 64, b"code" * 100)
    cache.trim()
    assert not list(tmp_path.glob("*.o"))
    assert TunedSchedules(tmp_path, AVX512).read() == {"a": "one"}


def test_the_environment_switches_it_off(tmp_path: Path) -> None:
    """By a variable of its own, or with the cache, beside which nothing can be kept then."""
    environment = {FOLDER_VARIABLE: str(tmp_path)}
    tuned_file(environment, AVX512).add({"a": "one"})
    assert schedules_for(OPTIONS, environment) == {"a": "one"}
    assert schedules_for(OPTIONS, environment | {tuned.SWITCH_VARIABLE: "off"}) == {}
    assert schedules_for(replace(OPTIONS, tuned=False), environment) == {}
    without_cache = environment | {SWITCH_VARIABLE: "off"}
    assert schedules_for(OPTIONS, without_cache) == {}
    with pytest.raises(InputError, match="switched off"):
        tuned_file(without_cache, AVX512)


def test_a_file_that_cannot_be_read_stops_no_compilation(tmp_path: Path) -> None:
    """Whatever stands in its place; who wants to add to it is told."""
    (tmp_path / tuned.NAME).mkdir()
    environment = {FOLDER_VARIABLE: str(tmp_path)}
    assert schedules_for(OPTIONS, environment) == {}
    with pytest.raises(OSError):
        tuned_file(environment, AVX512).add({"a": "one"})
