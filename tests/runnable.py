"""The targets whose code this CPU runs, and what ncnn makes of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from ncc.compiler.target import AVX2, TARGETS
from ncc.runtime import cpu
from ncc.runtime.errors import ArtifactError

RUNNABLE = [target for target in TARGETS if target.features <= cpu.features()]
NAMES = [target.name for target in RUNNABLE]

each_target = pytest.mark.parametrize(
    "target",
    [
        pytest.param(
            target, id=target.name, marks=() if target in (RUNNABLE[0], AVX2) else pytest.mark.slow
        )
        for target in RUNNABLE
    ],
)
"""Runs a test for all of them; a usual run has the widest one, and one of narrow vectors."""

ESTIMATES = "intel" in cpu.model().lower()
"""Whether this CPU estimates reciprocals as layers know them from ncnn's release, which asks it to:
other makers' CPUs estimate others, and bins of ROIPooling end elsewhere.
"""


@contextmanager
def skipped_on_a_lesser_cpu() -> Iterator[None]:
    """Skips the test where it would run instructions that this CPU lacks, and says which."""
    try:
        yield
    except ArtifactError as error:
        if not error.missing_features:
            raise
        pytest.skip(str(error))
