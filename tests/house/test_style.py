"""The habits of the house that no other tool checks."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import ncc
from ncc.compiler.passes import every_linalg_pass

MODULE_LINES, FILE_LINES = 500, 600
FUNCTION_LINES = 60
Function = (ast.FunctionDef, ast.AsyncFunctionDef)

# A letter in brackets, so that this file does not find itself.
UNFINISHED = re.compile(r"\b(T[O]DO|F[I]XME|X[X]X|H[A]CK)\b")
MACHINE_PATH = re.compile(r"(?<![\w.])/(home|root|work|Users)/\w")


def code_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """The lines of a function from its `def`, without its docstring."""
    lines = (function.end_lineno or 0) - function.lineno + 1
    if ast.get_docstring(function) is not None:
        docstring = function.body[0]
        lines -= (docstring.end_lineno or 0) - docstring.lineno + 1
    return lines


def test_files_are_short(modules: tuple[Any, ...], sources: tuple[Any, ...]) -> None:
    """A module that grows past 500 lines, or a file of tests past 600, has two subjects."""
    assert not [s.place for s in modules if len(s.text.splitlines()) > MODULE_LINES]
    assert not [s.place for s in sources if len(s.text.splitlines()) > FILE_LINES]


def test_functions_are_short(sources: tuple[Any, ...]) -> None:
    """A function of more than 60 lines of code has parts that want names."""
    long = [
        f"{source.place}:{node.lineno} {node.name}: {code_lines(node)} lines"
        for source in sources
        for node in source.statements
        if isinstance(node, Function) and code_lines(node) > FUNCTION_LINES
    ]
    assert not long, "\n".join(long)


def test_files_are_named_after_their_subject(sources: tuple[Any, ...]) -> None:
    """Nothing has the subject "everything else"."""
    vague = {"utils", "util", "common", "misc", "helpers", "helper", "tools"}
    assert not [s.place for s in sources if vague & set(s.path.with_suffix("").name.split("_"))]


def test_golden_texts_lie_where_their_pass_does(root: Path) -> None:
    """Those of a pass over operations have its room and its file's name."""
    golden = root / "tests" / "ir" / "linalg"
    rooms = root / "compiler" / "linalg"
    passes = {text.parent.relative_to(golden) for text in golden.rglob("*.mlir")}
    assert passes
    assert not [str(one) for one in passes if not (rooms / one).with_suffix(".py").exists()]


def test_every_pass_has_a_golden_text(root: Path) -> None:
    """Each pass over linalg of a compilation, but the lowering, whose tests compare numbers."""
    names = {one.name.replace("-", "_") for one in every_linalg_pass()}
    golden = {text.parent.name for text in (root / "tests" / "ir" / "linalg").rglob("*.mlir")}
    assert names - golden == {"convert_ncnn_to_linalg"}


def test_every_file_says_what_it_is(sources: tuple[Any, ...]) -> None:
    """A docstring at the top; an __init__ that only marks a folder may be empty."""
    assert not [s.place for s in sources if s.text and ast.get_docstring(s.tree) is None]


def test_tests_patch_public_names(root: Path) -> None:
    """What is private may change without a test."""
    private = re.compile(r'setattr\(\s*([\w.]*\b_[a-z]|[\w.]+,\s*"_[a-z]|"[\w.]*\._[a-z])', re.I)
    tests = sorted((root / "tests").rglob("*.py"))
    assert not [str(test) for test in tests if private.search(test.read_text())]


@pytest.mark.parametrize("function", [ncc.compile, ncc.optimize])
def test_users_are_told_every_choice(function: Callable[..., object]) -> None:
    """The docstring of what a user calls names each parameter."""
    told = function.__doc__ or ""
    parameters = inspect.signature(function).parameters
    assert not [name for name in parameters if not re.search(rf"\b{name}\b", told)]


def test_every_test_states_a_fact(sources: tuple[Any, ...]) -> None:
    """The docstring of a test says what holds."""
    silent = [
        f"{source.place}:{node.lineno} {node.name}"
        for source in sources
        if source.path.name.startswith("test_")
        for node in source.statements
        if isinstance(node, Function) and node.name.startswith("test_")
        if ast.get_docstring(node) is None
    ]
    assert not silent, "\n".join(silent)


def test_no_error_is_swallowed(sources: tuple[Any, ...]) -> None:
    """No handler catches everything and does nothing."""
    swallowed = [
        f"{source.place}:{node.lineno}"
        for source in sources
        for node in source.statements
        if isinstance(node, ast.ExceptHandler)
        if node.type is None or ast.unparse(node.type) in ("Exception", "BaseException")
        if all(isinstance(statement, ast.Pass | ast.Continue) for statement in node.body)
    ]
    assert not swallowed


def test_nothing_is_left_for_later(sources: tuple[Any, ...], root: Path) -> None:
    """No reminder in the code, and no path of somebody's machine anywhere."""
    texts = {source.place: source.text for source in sources}
    texts |= {path.name: path.read_text() for path in root.glob("*.md")}
    texts |= {f".ci/{path.name}": path.read_text() for path in (root / ".ci").glob("*")}
    found = [
        f"{place}:{number}: {line.strip()}"
        for place, text in texts.items()
        for number, line in enumerate(text.splitlines(), 1)
        if UNFINISHED.search(line) or MACHINE_PATH.search(line)
    ]
    assert not found, "\n".join(found)
