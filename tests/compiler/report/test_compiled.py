"""A compiled file has steps, memory and a time."""

from __future__ import annotations

from pathlib import Path

import pytest

from ncc.compiler.driver.compile import compile_with
from ncc.compiler.options import Options
from ncc.compiler.report.gather import gather
from ncc.compiler.report.request import Request
from tests.compiler.report.conftest import NETWORK


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("compiled")
    (folder / "net.param").write_text(NETWORK)
    compile_with(folder / "net.param", None, Options(random_weights=0)).save(folder / "net.ncc")
    return folder / "net.ncc"


def test_what_it_has(compiled: Path) -> None:
    """The rest of a report needs the network, which the file does not have."""
    found = gather(Request(compiled, None, {}, rounds=1))
    assert found.about["compiled from"] == "net.param"
    assert [(b.name, b.shape) for b in found.inputs] == [("data", "16x8x8")]
    assert any(step.layers == ("first",) for step in found.steps)
    assert found.memory is not None and found.memory.weight_bytes > 2304 * 4
    assert found.time is not None and found.time.least_ms > 0 and found.time.roof is None
    assert [one.what.split()[0] for one in found.missing] == ["layers"]
