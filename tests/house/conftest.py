"""The house seen from outside: its rooms, its source files, its modules."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROOMS = ("runtime", "dialects", "compiler")


@dataclass(frozen=True)
class Source:
    """A Python file of the checkout."""

    path: Path

    @property
    def place(self) -> str:
        """Where it is, from the root of the checkout."""
        return self.path.relative_to(ROOT).as_posix()

    @property
    def module(self) -> str:
        """What it is imported as; for a package without `.__init__`."""
        parts = self.path.relative_to(ROOT).with_suffix("").parts
        dotted = ".".join(parts if parts[0] == "ncc" else ("ncc", *parts))
        return dotted.removesuffix(".__init__")

    @cached_property
    def text(self) -> str:
        return self.path.read_text()

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text)

    @cached_property
    def statements(self) -> tuple[ast.AST, ...]:
        """All statements of the tree and handlers of errors, wherever they stand."""
        return tuple(_statements(self.tree))


def _statements(node: ast.AST) -> Iterator[ast.AST]:
    """Those inside of a statement. Expressions, which are most of a tree, are not looked at."""
    for part in ("body", "handlers", "orelse", "finalbody", "cases"):
        for inner in getattr(node, part, ()):
            yield inner
            yield from _statements(inner)


@cache
def _sources(*folders: str) -> tuple[Source, ...]:
    paths = (path for folder in folders for path in sorted((ROOT / folder).rglob("*.py")))
    return tuple(Source(path) for path in paths)


@pytest.fixture(scope="session")
def root() -> Path:
    """The root of the checkout."""
    return ROOT


@pytest.fixture(scope="session")
def modules() -> tuple[Source, ...]:
    """Every file that is installed: the rooms and the face."""
    face = tuple(Source(path) for path in sorted((ROOT / "ncc").glob("*.py")))
    return (*_sources(*ROOMS), *face)


@pytest.fixture(scope="session")
def sources(modules: tuple[Source, ...]) -> tuple[Source, ...]:
    """Every Python file that people read: the modules, the examples and the tests."""
    return (*modules, *_sources("examples", "tests"))
