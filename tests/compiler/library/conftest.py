"""A small network and its libraries."""

from __future__ import annotations

import pytest

from tests.c_programs import Library
from tests.compiler.library.small_networks import Compiled, compiled


@pytest.fixture(scope="session")
def plain() -> Compiled:
    """A network of convolution, pooling and inner product."""
    return compiled("plain")


@pytest.fixture(scope="module")
def library(plain: Compiled, tmp_path_factory: pytest.TempPathFactory) -> Library:
    """Its library, called `net`."""
    return Library(plain.artifact, tmp_path_factory.mktemp("library"))


@pytest.fixture(scope="module")
def mapped(plain: Compiled, tmp_path_factory: pytest.TempPathFactory) -> Library:
    """The same with weights in a file."""
    return Library(plain.artifact, tmp_path_factory.mktemp("mapped"), embedded=False)
