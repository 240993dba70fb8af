"""What a CPU must have that runs a test."""

from __future__ import annotations

import pytest

from ncc.runtime.errors import ArtifactError
from tests.runnable import skipped_on_a_lesser_cpu


def test_code_for_another_cpu_skips_a_test() -> None:
    """By the reason that a user would read; another error is one."""
    with pytest.raises(pytest.skip.Exception, match="lacks avx99"), skipped_on_a_lesser_cpu():
        raise ArtifactError("this CPU lacks avx99", ["avx99"])
    with pytest.raises(ArtifactError, match="broken"), skipped_on_a_lesser_cpu():
        raise ArtifactError("the file is broken")
