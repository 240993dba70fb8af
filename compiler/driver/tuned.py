"""The fastest schedules that `ncc tune` has found on a machine, as a text file.

    <folder of the cache>/tuned.txt

    signature of the kernel <tab> target <tab> compiler <tab> CPU <tab> schedule

A line is valid for the CPU, the target and the compiler that it names, so that machines may share a
folder. A writer holds a lock, and renames the new file over the old one, so that readers need no
lock. Readers ignore lines that they cannot parse.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from functools import cached_property
from hashlib import sha256
from pathlib import Path

from ncc.compiler.driver.cache import cache_of, switch_of
from ncc.compiler.driver.versions import generator_version
from ncc.compiler.options import Options
from ncc.compiler.target import Target
from ncc.runtime import cpu
from ncc.runtime.draft import draft_of
from ncc.runtime.errors import InputError

SWITCH_VARIABLE = "NCC_TUNED"
"""`off`: ignore tuned schedules and use those of the cost model."""

NAME = "tuned.txt"
_FIELDS = 5


class TunedSchedules:
    """The file in a folder, as far as it is for one target on this machine and by this compiler."""

    def __init__(self, folder: Path, target: Target) -> None:
        self.path = folder / NAME
        self._target = target

    @cached_property
    def _made_by(self) -> tuple[str, str, str]:
        compiler = sha256(generator_version().encode()).hexdigest()[:12]
        return self._target.name, compiler, cpu.model()

    def read(self) -> dict[str, str]:
        """Texts of schedules by signature; nothing where there is no file."""
        return {
            signature: schedule
            for (signature, *made_by), schedule in self._lines().items()
            if tuple(made_by) == self._made_by
        }

    def add(self, schedules: Mapping[str, str]) -> None:
        """Keep these, in place of what other compilers found for the same kernels here.

        Raises OSError where the folder cannot be written.
        """
        self.path.parent.mkdir(parents=True, exist_ok=True)
        from filelock import FileLock  # slow to import, and only needed here

        target, _, machine = self._made_by
        with FileLock(self.path.with_suffix(".lock")):
            lines = {
                key: schedule
                for key, schedule in self._lines().items()
                if (key[1], key[3]) != (target, machine) or key[0] not in schedules
            }
            lines |= {(name, *self._made_by): text for name, text in schedules.items()}
            text = "".join("\t".join((*key, held)) + "\n" for key, held in sorted(lines.items()))
            with draft_of(self.path) as draft:
                draft.write_text(text)

    def _lines(self) -> dict[tuple[str, ...], str]:
        """All lines, for any CPU, target and compiler."""
        try:
            text = self.path.read_text(errors="replace")
        except OSError:  # no file, no folder, or one that we may not read
            return {}
        rows = [tuple(line.split("\t")) for line in text.splitlines()]
        return {row[:-1]: row[-1] for row in rows if len(row) == _FIELDS}


def schedules_for(options: Options, environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """What was tuned for a target, if the options and the environment want that to be used."""
    cache = cache_of(environment)
    is_on = switch_of(environment, SWITCH_VARIABLE) == "on"
    if cache is None or not options.tuned or not is_on:
        return {}
    with suppress(OSError):  # a file that others may read counts as absent, as their kernels do
        return TunedSchedules(cache.folder, options.target).read()
    return {}


def tuned_file(environment: Mapping[str, str], target: Target) -> TunedSchedules:
    """Where to keep what is tuned. Raises InputError where nothing shall be kept."""
    cache = cache_of(environment)
    if cache is None:
        raise InputError("schedules are kept beside the cache of kernels, which is switched off")
    return TunedSchedules(cache.folder, target)
