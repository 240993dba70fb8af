"""What the passes over linalg operations decide when a network is compiled, and why.

    compiled for avx512 at -O2 on 1 thread, the operations of layer 'conv1':
      choose-convolution: not, it has fewer than 16 channels
      peel-borders: fired

All passes run, on a network read from its files; those with decisions tell them.
"""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp

from ncc.compiler.diagnostics import ModelWarning
from ncc.compiler.linalg.rewrite.decisions import Decision, ExplainedPass
from ncc.compiler.options import Options
from ncc.compiler.passes import every_linalg_pass, linalg_passes
from ncc.compiler.pipeline import Compilation
from ncc.runtime.paths import PathLike


def explained_passes() -> dict[str, str]:
    """Every pass that tells its decisions, with its docstring."""
    found = [one for one in every_linalg_pass() if isinstance(one, ExplainedPass)]
    return {one.name: one.__doc__ or "" for one in found}


@dataclass(frozen=True)
class CompiledPassFate:
    """Where a pass over linalg operations fired, and why it did not elsewhere."""

    name: str
    runs: bool
    decisions: tuple[Decision, ...]

    def lines(self) -> Iterator[str]:
        """A line each."""
        yield from map(str, sorted(self.decisions, key=lambda one: not one.fired))
        if not self.runs:
            yield f"{self.name}: no pass of a compilation at this level for this target"
        elif not self.decisions:
            yield f"{self.name}: no operation of this network looks like it"


@dataclass(frozen=True)
class Decided:
    """The decisions of all passes that ran, in their order, and the options of the compilation."""

    options: Options
    names: tuple[str, ...]
    decisions: tuple[Decision, ...]

    def of_pass(self, name: str) -> CompiledPassFate:
        """Those of one pass."""
        decisions = tuple(one for one in self.decisions if one.pass_name == name)
        return CompiledPassFate(name, name in self.names, decisions)

    def of_layers(self, layers: Collection[str | None]) -> tuple[Decision, ...]:
        """Those about operations of some layers."""
        return tuple(one for one in self.decisions if one.layers in layers)

    def lines_of(self, layer: str) -> Iterator[str]:
        """Those about a layer, a line each."""
        options, decisions = self.options, self.of_layers({layer})
        threads = f"{options.num_threads} thread" + "s" * (options.num_threads > 1)
        compiled = f"compiled for {options.target.name} at -O{options.opt_level} on {threads}"
        if not decisions:
            yield f"{compiled}, no pass over linalg looks at layer {layer!r}"
            return
        yield f"{compiled}, the operations of layer {layer!r}:"
        for decision in decisions:
            yield f"  {decision.pass_name}: {decision.outcome}"


def decided(param: PathLike, bin: PathLike | None, options: Options) -> Decided:
    """Run all passes over linalg operations of a network; what those that tell it have decided.

    Raises what a compilation raises, as where a shape is open. Warns of nothing.
    """
    compilation = Compilation(param, bin, options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        module = compilation.network()
    return decided_on(compilation, module)


def decided_on(compilation: Compilation, module: ModuleOp) -> Decided:
    """The same for a module at the ncnn level, which is at the linalg level afterwards."""
    options = compilation.options
    names: list[str] = []
    decisions: list[Decision] = []
    for one in linalg_passes(options):
        if isinstance(one, ExplainedPass):
            names.append(one.name)
            decisions += one.explain(module)
        else:
            one.apply(compilation.context, module)
    return Decided(options, tuple(names), tuple(decisions))
