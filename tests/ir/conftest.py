"""Golden IR: a file of text is a test.

    // passes: infer-shapes,canonicalize-ncnn
    // refused: eliminate_dropout drop: its scale is 0.5, not 1
    builtin.module { ... }
    // -- becomes --
    builtin.module { ... }

The passes turn the first module into the second, letter by letter; `pytest --bless` rewrites the
second. A line `refused` is what `explain` says: pattern or pass, layer and reason; after two
dots, the reason may go on.

After `// -- changes --`, the text has only what the passes change (`changes.py`): that is shorter
if operations have many lines. `--bless` keeps the kind of a file; for a new file, write one of the
two lines after the module.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from pathlib import Path

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser
from xdsl.passes import PassPipeline
from xdsl.universe import Universe

from ncc.compiler.linalg.rewrite.decisions import Decisions, ExplainedPass
from ncc.compiler.ncnn.optimize import explain
from ncc.dialects.stage_text import text_of
from tests.ir.changes import Changes

PASSES = "// passes:"
REFUSED = "// refused:"
BECOMES = "// -- becomes --\n"
CHANGES = "// -- changes --\n"


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    if file_path.suffix != ".mlir":
        return None
    collector: pytest.Collector = GoldenFile.from_parent(parent, path=file_path)
    return collector


class GoldenFile(pytest.File):
    """One file, one test."""

    def collect(self) -> Iterator[pytest.Item]:
        yield GoldenText.from_parent(self, name=self.path.stem)


class Mismatch(Exception):
    """The result is not the expected one."""


class GoldenText(pytest.Item):
    """The passes of a file turn its first module into its second."""

    def runtest(self) -> None:
        text = self.path.read_text()
        separator = CHANGES if CHANGES in text else BECOMES
        before, _, expected = text.partition(separator)
        module, context = parse(before)
        changes = Changes(module)
        decisions: Decisions = []
        for one in pipeline(before).passes:
            if isinstance(one, ExplainedPass):
                decisions += one.explain(module)
            else:
                one.apply(context, module)
            module.verify()
        whole = text_of(module)
        found = changes.text(module) if separator == CHANGES else whole
        if self.config.getoption("bless"):
            self.path.write_text(before + separator + found)
        elif found != expected:
            wanted, got = expected.splitlines(), found.splitlines()
            raise Mismatch("\n".join(difflib.unified_diff(wanted, got, lineterm="")))
        again, _ = parse(whole)
        if text_of(again) != whole:
            raise Mismatch("the result does not parse to itself")
        for pattern, layer, reason in self._refusals(before):
            told = refusals(module, pattern, decisions)
            if not any(layer == layers and is_told(reason, why) for layers, why in told):
                raise Mismatch(f"{pattern} says {told}")

    @staticmethod
    def _refusals(text: str) -> Iterator[tuple[str, str, str]]:
        for line in text.splitlines():
            if line.startswith(REFUSED):
                place, _, reason = line.removeprefix(REFUSED).strip().partition(": ")
                pattern, _, layer = place.partition(" ")
                yield pattern, layer, reason

    def repr_failure(
        self, excinfo: pytest.ExceptionInfo[BaseException], style: object = None
    ) -> str:
        if isinstance(excinfo.value, Mismatch):
            return f"{self.path}\n{excinfo.value}"
        return str(excinfo.getrepr(style="short"))

    def reportinfo(self) -> tuple[Path, int | None, str]:
        return self.path, 0, self.name


def is_told(reason: str, told: str) -> bool:
    """Whether a reason is the expected one, which may end in two dots."""
    return told.startswith(reason[:-2]) if reason.endswith("..") else told == reason


def refusals(module: ModuleOp, pattern: str, decisions: Decisions) -> list[tuple[str, str]]:
    """The layers that a pass left, by its decisions, or a pattern leaves; and the reasons."""
    left = [one for one in decisions if one.pass_name == pattern and not one.fired]
    return [(one.layers, one.reason) for one in left] if left else explain(module, pattern)


def parse(text: str) -> tuple[ModuleOp, Context]:
    """A module and the context it was parsed in, with every dialect that xdsl-opt would find."""
    context = Context()
    for name, factory in Universe.get_multiverse().all_dialects.items():
        context.register_dialect(name, factory)
    return Parser(context, text).parse_module(), context


def pipeline(text: str) -> PassPipeline:
    """The passes of the first line."""
    first = text.partition("\n")[0]
    if not first.startswith(PASSES):
        raise Mismatch(f"the first line does not start with {PASSES}")
    passes = Universe.get_multiverse().all_passes
    return PassPipeline.parse_spec(passes, first.removeprefix(PASSES).strip())
