"""Every line that tells what to install names what there is.

On PyPI `ncc` is another program: who followed a line that names it would get that one.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

SUFFIXES = {".md", ".py", ".toml", ".sh", ".txt", ".yaml", ".yml"}
PLACES = (
    *("ncc", "compiler", "dialects", "runtime"),
    *("docs", "examples", "tests", ".ci"),
)

NAMED = {"pnnx", "openvino", "torch", "onnxscript"}
"""What no distribution of ours asks for, and texts name."""

LINE = re.compile(r"\bpip3? install((?: +(?:'[^']*'|[^\s'\"`;&()#,]+))+)")
REQUIREMENT = re.compile(r"([\w.*/-]+?)(?:\[([\w,]+)\])?(?:[=~<>!].*)?")
OUR_NAME_AS_A_DISTRIBUTION = re.compile(
    r"\bncc\[\w|\binstall(?:ing)? `?ncc\b|\bncc-[*\d][\w.*-]*\.(?:whl|tar)"
)


@pytest.fixture(scope="module")
def project(root: Path) -> dict[str, Any]:
    read: dict[str, Any] = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    return read


def texts(root: Path) -> Iterator[tuple[str, str]]:
    """Every text of the checkout, and where it stands."""
    inside = [file for place in PLACES for file in (root / place).rglob("*")]
    for file in [*root.glob("*"), *inside]:
        if file.is_file() and file.suffix in SUFFIXES and file != Path(__file__):
            yield str(file.relative_to(root)), file.read_text()


def wrong(wanted: str, project: dict[str, Any], root: Path) -> str | None:
    """What is wrong with one thing to install, by a name, a folder or a file."""
    match = REQUIREMENT.fullmatch(wanted)
    if match is None:
        return "is no requirement"
    name, extras = match[1], set(filter(None, (match[2] or "").split(",")))
    ours: str = project["name"]
    if name.endswith(".whl"):
        is_ours, exists = True, name.startswith(ours.replace("-", "_") + "-")
    elif name.startswith("."):
        is_ours, exists = name == ".", (root / name / "pyproject.toml").exists()
    else:
        is_ours, exists = name == ours, name in {ours} | NAMED | required(project)
    if not exists:
        return "does not exist"
    known = project["optional-dependencies"].keys() if is_ours else set()
    return f"has no extra {', '.join(extras - known)}" if extras - known else None


def required(project: dict[str, Any]) -> set[str]:
    """The names of all distributions that ours asks for."""
    extras = project["optional-dependencies"].values()
    listed = [*project["dependencies"], *(line for extra in extras for line in extra)]
    return {re.split(r"[\[=~<>!]", line)[0] for line in listed}


def test_lines_name_what_there_is(project: dict[str, Any], root: Path) -> None:
    """Distributions, extras of ours, folders."""
    seen, bad = 0, []
    for place, text in texts(root):
        for line in LINE.finditer(text):
            words = [word.strip("'") for word in line[1].split()]
            for word in (word for word in words if not word.startswith("-")):
                seen += 1
                if why := wrong(word, project, root):
                    bad.append(f"{place}: {word} {why}")
    assert not bad
    assert seen >= 10, "the lines are not found any more"


def test_lines_say_what_pnnx_brings(root: Path) -> None:
    """Its requirement of torch is a thousand times its own size."""
    lines = [
        (place, line)
        for place, text in texts(root)
        for line in text.splitlines()
        if re.search(r"\binstall( -[\w-]+)* pnnx", line)
    ]
    assert lines, "the lines are not found any more"
    assert not [pair for pair in lines if not re.search("torch|--no-deps|--upgrade", pair[1])]


def test_ours_is_not_called_after_its_command(project: dict[str, Any], root: Path) -> None:
    """In no text, and not by the packages of the examples."""
    bad = [
        f"{place}: {found[0]}"
        for place, text in texts(root)
        for found in OUR_NAME_AS_A_DISTRIBUTION.finditer(text)
    ]
    for file in (root / "examples").rglob("pyproject.toml"):
        for line in tomllib.loads(file.read_text())["project"]["dependencies"]:
            if why := wrong(line, project, root):
                bad.append(f"{file}: {line} {why}")
    assert not bad


@pytest.mark.parametrize(
    ("wanted", "why"),
    [
        ("ncc", "does not exist"),
        ("ncc[verify]", "does not exist"),
        ("ncnn-compiler[nothing]", "has no extra nothing"),
        (".[nothing]", "has no extra nothing"),
        ("ncc-*.whl", "does not exist"),
        ("./examples/digits", "does not exist"),
        ("ncnn[verify]", "has no extra verify"),
        ("{module}", "is no requirement"),
        ("ncnn-compiler[compiler,verify]", None),
        ("ncnn_compiler-*.whl[compiler]", None),
        (".[dev]", None),
        ("./examples/snake", None),
        ("numpy>=1.26", None),
    ],
)
def test_what_is_wrong_is_found(
    project: dict[str, Any], root: Path, wanted: str, why: str | None
) -> None:
    """By whichever part of it."""
    assert wrong(wanted, project, root) == why
