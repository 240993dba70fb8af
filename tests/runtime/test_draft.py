"""Files that are there whole or not at all."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from ncc.runtime.draft import draft_of, place_of


def test_a_draft_becomes_the_file(tmp_path: Path) -> None:
    """New, or in place of an old one, under a name as long as names can be."""
    path = tmp_path / ("n" * 255)
    for text in ("one", "two"):
        with draft_of(path) as draft:
            draft.write_text(text)
            assert draft.parent == tmp_path
        assert path.read_text() == text
    assert list(tmp_path.iterdir()) == [path]


def test_what_fails_leaves_nothing(tmp_path: Path) -> None:
    """The old file stays, also where somebody interrupts."""
    path = tmp_path / "file"
    path.write_text("old")
    with pytest.raises(KeyboardInterrupt), draft_of(path) as draft:
        draft.write_text("new")
        raise KeyboardInterrupt
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_what_is_no_plain_file_stays(tmp_path: Path) -> None:
    """A device, a pipe or a folder is not replaced, whoever asks for it and by what name."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read, written = map(open, os.pipe(), ("rb", "wb"))
    with read, written:
        nameless = Path(f"/proc/self/fd/{written.fileno()}")
        for path in (pipe, tmp_path, Path(os.devnull), nameless):
            with pytest.raises(OSError, match=f"no plain file.*'{path}'"), draft_of(path):
                pass
    assert pipe.is_fifo() and [pipe] == list(tmp_path.iterdir())


def test_a_folder_that_is_not_there_is_no_file(tmp_path: Path) -> None:
    """Though a path without the slash at its end would be one."""
    (tmp_path / "file").touch()
    for name in ("results", "file"):
        with pytest.raises(FileNotFoundError, match="there is no such folder"):
            place_of(f"{tmp_path}/{name}/")


def test_what_a_link_leads_to_is_written(tmp_path: Path) -> None:
    """The link stays, also where it leads to nothing yet."""
    (tmp_path / "folder").mkdir()
    path, link = tmp_path / "folder" / "file", tmp_path / "link"
    link.symlink_to("folder/file")
    for text in ("one", "two"):
        with draft_of(link) as draft:
            draft.write_text(text)
            assert draft.parent == path.parent
        assert link.is_symlink() and path.read_text() == text
    assert list(path.parent.iterdir()) == [path]


def test_a_missing_folder(tmp_path: Path) -> None:
    """The folder is named, not the draft in it."""
    with pytest.raises(FileNotFoundError, match="no such folder.*nowhere'"):
        with draft_of(tmp_path / "nowhere" / "file"):
            pass


def test_a_folder_that_nobody_may_write_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Is told before anything is written, by the name of the file."""
    monkeypatch.setattr(os, "access", lambda path, mode: path != tmp_path)
    with pytest.raises(PermissionError, match=f"'{tmp_path / 'file'}'"):
        place_of(tmp_path / "file")


def test_a_full_disk_is_told_by_the_name_of_the_file(tmp_path: Path) -> None:
    """The system does not name it, and the draft's name tells nobody anything."""
    path = tmp_path / "file"
    with pytest.raises(OSError, match=f"No space left on device: '{path}'"), draft_of(path):
        with open("/dev/full", "wb", buffering=0) as device:
            device.write(b"some")
    assert not list(tmp_path.iterdir())


def test_a_draft_that_cannot_be_made_is_told_by_the_name_of_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a file system for reading, nor can one be taken away that is not there."""

    def refused(draft: Path, **_: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(draft))

    monkeypatch.setattr(Path, "touch", refused)
    monkeypatch.setattr(Path, "unlink", refused)
    path = tmp_path / "file"
    with pytest.raises(OSError, match=f"Read-only file system: '{path}'"), draft_of(path) as draft:
        draft.touch()
