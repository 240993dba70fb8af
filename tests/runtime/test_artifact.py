"""A .ncc file: what is written is read, nothing else is, and nothing is read that need not be."""

from __future__ import annotations

import dataclasses
import json
import random
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ncc.runtime import artifact
from ncc.runtime.archive import write_archive
from ncc.runtime.artifact import Artifact, Binding, Table, as_bytes
from ncc.runtime.errors import ArtifactError
from ncc.runtime.session import Model


@pytest.fixture
def saved(reverse: Artifact, tmp_path: Path) -> Path:
    """The test's model in a file."""
    path = tmp_path / "net.ncc"
    reverse.save(path)
    return path


def test_what_was_saved_is_loaded(reverse: Artifact, saved: Path) -> None:
    """Field by field."""
    loaded = Artifact.load(saved, verify_weights=True)
    for entry in dataclasses.fields(Artifact):
        if entry.name != "weights":
            assert getattr(loaded, entry.name) == getattr(reverse, entry.name), entry.name
    assert bytes(as_bytes(loaded.weights)) == bytes(as_bytes(reverse.weights))


def test_a_loaded_model_runs_and_can_be_saved_over_itself(saved: Path) -> None:
    """The weights stay mapped from the old file while the new one takes its name."""
    x = np.ones((3, 4), np.float32)
    model = Model.load(saved, 1)
    before = saved.read_bytes()
    model.save(saved)
    assert saved.read_bytes() == before
    for _ in range(2):
        assert model.run({"data": x})["y"].sum() == 36
        model = Model.load(saved, 1)


def test_the_same_artifact_gives_the_same_bytes(reverse: Artifact, tmp_path: Path) -> None:
    """No times, no names of places; fields in a fixed order."""
    reverse.save(tmp_path / "a.ncc")
    turned = dict(reversed(list(reverse.info.items())))
    dataclasses.replace(reverse, info=turned).save(tmp_path / "b.ncc")
    assert (tmp_path / "a.ncc").read_bytes() == (tmp_path / "b.ncc").read_bytes()


def test_weights_are_mapped_at_a_page(saved: Path) -> None:
    """Their offset in the file is a multiple of 4096, and they are used where they are."""
    loaded = Artifact.load(saved)
    assert np.frombuffer(as_bytes(loaded.weights), np.uint8).ctypes.data % 4096 == 0
    model = Model(loaded, 1)
    assert model._weights.ctypes.data % 4096 == 0


def test_the_file_is_an_ordinary_zip_archive(saved: Path) -> None:
    """Any zip tool shows and checks it."""
    with zipfile.ZipFile(saved) as file:
        assert file.testzip() is None
        assert file.namelist() == ["manifest.json", "code/0.o", "code/1.o", "weights"]
        assert json.loads(file.read("manifest.json"))["inputs"][0]["shape"] == [3, 4]


@pytest.mark.parametrize("weights", [b"", bytearray(b"abc"), memoryview(b"abcd"), np.zeros((2, 3))])
def test_any_buffer_can_hold_weights(reverse: Artifact, tmp_path: Path, weights: Any) -> None:
    """Also an empty one, and one of several dimensions."""
    path = tmp_path / "w.ncc"
    dataclasses.replace(reverse, weights=weights).save(path)
    assert bytes(as_bytes(Artifact.load(path).weights)) == bytes(weights)


def test_a_missing_file_is_an_os_error(tmp_path: Path) -> None:
    """As for any other file."""
    with pytest.raises(FileNotFoundError):
        Artifact.load(tmp_path / "none.ncc")


def rewrite(path: Path, **changes: Any) -> None:
    """Change fields of the manifest; None removes one."""
    with zipfile.ZipFile(path) as file:
        entries = {name: file.read(name) for name in file.namelist()}
    manifest = {**json.loads(entries["manifest.json"]), **changes}
    manifest = {name: value for name, value in manifest.items() if value is not None}
    entries["manifest.json"] = json.dumps(manifest).encode()
    chunks = {name: [memoryview(data)] for name, data in entries.items()}
    write_archive(path, chunks, frozenset())


def a_binding(**fields: Any) -> dict[str, Any]:
    """An input or output as the manifest has it."""
    plain = {"name": "x", "shape": [1], "dtype": "int8", "dynamic": False}
    return {**plain, "ranges": [], "first": [], **fields}


def test_another_kind_of_processor_is_named(saved: Path) -> None:
    """Not its features, all of which are missing; and there is a target to recompile for."""
    rewrite(saved, features=["asimd", "asimddp"], target="neondot")
    with pytest.raises(ArtifactError) as caught:
        Artifact.load(saved)
    assert "compiled for neondot, a target of aarch64, and this machine is x86_64" in str(
        caught.value
    )
    assert "recompile it with --target=" in str(caught.value)


def test_a_foreign_cpu_is_refused_with_a_way_out(saved: Path) -> None:
    """What is missing, and for which target to recompile; the file can still be looked into."""
    rewrite(saved, features=["sse2", "avx99", "amx_magic"], target="future")
    with pytest.raises(ArtifactError) as caught:
        Artifact.load(saved)
    assert "compiled for future, and this CPU lacks amx_magic, avx99;" in str(caught.value)
    assert "recompile it with --target=" in str(caught.value)
    assert caught.value.missing_features == ("amx_magic", "avx99")
    assert Artifact.load(saved, any_cpu=True).target == "future"


def test_another_format_version_is_refused(saved: Path) -> None:
    """Newer and older, with both numbers."""
    rewrite(saved, version=artifact.FORMAT_VERSION + 1)
    with pytest.raises(ArtifactError, match=r"by a newer ncc \(format 7; this one reads 6\)"):
        Artifact.load(saved)
    rewrite(saved, version=0)
    with pytest.raises(ArtifactError, match="by an older ncc"):
        Artifact.load(saved)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"format": "other"}, "manifest is that of another program"),
        ({"format": None}, "format in the manifest is not a text"),
        ({"threads": 0}, "threads in the manifest is out of range"),
        ({"threads": True}, "threads in the manifest is not a number"),
        ({"arena_bytes": -1}, "out of range"),
        ({"arena_bytes": 1e3}, "not a number"),
        ({"arena_bytes": 1 << 60}, "out of range"),
        ({"objects": 3}, "code/2.o is missing"),
        ({"weights_bytes": 3}, "not the size"),
        ({"features": "sse2"}, "not a list"),
        ({"features": [1]}, "not a list of texts"),
        ({"info": []}, "not an object"),
        ({"tables": None}, "tables in the manifest is not a list"),
        ({"tables": [{"start": 0, "size": 1 << 40, "checksum": 0}]}, "a table in weights"),
        ({"inputs": {}}, "not a list"),
        ({"inputs": [1]}, "not a list of objects"),
        ({"inputs": [{"name": "x", "shape": [-2], "dtype": "float32", "dynamic": False}]}, "range"),
        ({"inputs": [{"name": "x", "shape": [1], "dtype": "O", "dynamic": False}]}, "dtype 'O'"),
        (
            {"inputs": [a_binding(shape=[1 << 40] * 3)]},
            "shape of 'x' in the manifest is impossible",
        ),
        (
            {"outputs": [a_binding(shape=[], dynamic=True)]},
            "shape of 'x' in the manifest is impossible",
        ),
        ({"inputs": [a_binding(first=[2])]}, "shape of 'x' in the manifest is impossible"),
        ({"inputs": [a_binding(first=[-1])]}, "first in the manifest is out of range"),
    ],
)
def test_a_wrong_manifest_is_refused(saved: Path, changes: dict[str, Any], why: str) -> None:
    """Each field has its type and range."""
    rewrite(saved, **changes)
    with pytest.raises(ArtifactError, match=why):
        Artifact.load(saved)


@pytest.mark.parametrize(
    ("data", "how"),
    [
        (b"not a zip archive", ": `ncc compile` or ncc.compile makes one"),
        (bytes(5000), ": `ncc compile` or ncc.compile makes one"),
        (b"PK\3\4", ", or it is broken: it is no zip archive: File is not a zip file; copy it"),
        (b"", " but an empty file: copy it"),
        (b"7767517\n1 1\n", " but a .param: `ncc compile x.ncc` or ncc.compile makes one of it"),
        (b"\x08\x07\x12\x07pytorch", " but an ONNX model: pnnx converts it"),
    ],
)
def test_other_files_are_refused(tmp_path: Path, data: bytes, how: str) -> None:
    """With their path, what they are, and how a network becomes what is wanted."""
    path = tmp_path / "x.ncc"
    path.write_bytes(data)
    with pytest.raises(ArtifactError) as refused:
        Artifact.load(path)
    assert str(refused.value).startswith(f"{path} is not a compiled model{how}")


def test_an_archive_of_another_program_is_refused(tmp_path: Path) -> None:
    """It is not broken: a TorchScript model is one, too."""
    path = tmp_path / "net.pt"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("net/constants.pkl", b"")
    with pytest.raises(ArtifactError, match="but a TorchScript model, .*: pnnx converts it"):
        Artifact.load(path)


def test_a_compressed_archive_is_refused(saved: Path) -> None:
    """A file that was packed again cannot be mapped."""
    with zipfile.ZipFile(saved) as file:
        entries = {name: file.read(name) for name in file.namelist()}
    with zipfile.ZipFile(saved, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in entries.items():
            file.writestr(name, data)
    with pytest.raises(ArtifactError, match="is compressed"):
        Artifact.load(saved)


def test_an_archive_that_was_packed_again_without_compression_runs(saved: Path) -> None:
    """Its weights are no longer aligned: they are copied."""
    rewrite(saved)
    assert Model.load(saved, 1).run({"data": np.ones((3, 4), np.float32)})["y"].sum() == 36


def test_damaged_weights_are_noticed_when_asked_for(saved: Path, reverse: Artifact) -> None:
    """The checksum of the weights is not looked at by default: it would read all of them."""
    data = bytearray(saved.read_bytes())
    data[data.index(bytes(as_bytes(reverse.weights)))] ^= 1
    saved.write_bytes(data)
    Artifact.load(saved)
    with pytest.raises(ArtifactError, match="weights does not match its checksum"):
        Model.load(saved, verify_weights=True)


def test_a_damaged_table_in_the_weights_is_refused(saved: Path, reverse: Artifact) -> None:
    """Code follows it wherever it leads. What is around it is not looked at."""
    weights = bytes(as_bytes(reverse.weights))
    table = Table(8, 16, zlib.crc32(weights[8:24]))
    dataclasses.replace(reverse, tables=(table,)).save(saved)
    assert Artifact.load(saved).tables == (table,)
    data = saved.read_bytes()
    start = data.index(weights)
    for place, within in [(7, False), (8, True), (23, True), (24, False)]:
        broken = bytearray(data)
        broken[start + place] ^= 1
        saved.write_bytes(broken)
        if not within:
            Artifact.load(saved)
            continue
        with pytest.raises(ArtifactError, match="a table in weights does not match its checksum"):
            Artifact.load(saved)


def test_every_truncation_is_refused(saved: Path) -> None:
    """The directory of a zip archive stands at its end."""
    data = saved.read_bytes()
    for end in [*range(0, len(data), 101), *range(len(data) - 60, len(data))]:
        saved.write_bytes(data[:end])
        with pytest.raises(ArtifactError):
            Artifact.load(saved)


@pytest.mark.parametrize("seed", range(3))
def test_flipped_bits_are_refused_or_harmless(saved: Path, reverse: Artifact, seed: int) -> None:
    """What still loads has code and manifest as they were written."""
    data = saved.read_bytes()
    chance = random.Random(seed)
    directory = data.index(b"PK\1\2")
    for _ in range(300):
        broken = bytearray(data)
        low = directory if chance.random() < 0.5 else 0
        broken[chance.randrange(low, len(data))] ^= 1 << chance.randrange(8)
        saved.write_bytes(broken)
        try:
            loaded = Artifact.load(saved)
        except ArtifactError:
            continue
        assert loaded.objects == reverse.objects
        assert loaded.inputs == reverse.inputs and loaded.info == reverse.info


def test_the_size_of_a_dynamic_output_counts_its_header() -> None:
    """64 bytes before the rows."""
    assert Binding("a", (2, 3)).nbytes == 24
    assert Binding("a", (2, 3), "int64", dynamic=True).nbytes == 112


def test_which_shapes_a_binding_admits() -> None:
    """Any where it is open, as far as ranges let it; the very one where it is not."""
    fixed, cache = Binding("x", (2, 3)), Binding("c", (2, -1), ranges=((1, None), (0, 9)))
    shapes = [(2, 3), (2, 0), (2, 10), (3, 3), (2, 3, 1)]
    assert [fixed.admits(shape) for shape in shapes] == [True, False, False, False, False]
    assert [cache.admits(shape) for shape in shapes] == [True, True, False, False, False]
