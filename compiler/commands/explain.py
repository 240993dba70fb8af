"""`ncc explain`: says what became of each layer and blob, and why a pass did not apply."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import click

from ncc.compiler.commands.arguments import (
    BIN,
    CODE,
    JSON,
    PARAM,
    AskedShapes,
    asked_shape,
    completed,
    echo_json,
    list_passes,
    named_blob,
    once,
    progress,
    without_ranges,
)

if TYPE_CHECKING:
    from ncc.compiler.explain import BlobFate, LayerFate, PassFate
    from ncc.compiler.explain_linalg import CompiledPassFate, Decided
    from ncc.compiler.explain_sizes import SizesFate
    from ncc.compiler.options import Options

Files: TypeAlias = tuple[str, str | None]
"""The .param, and the .bin if it is not the one beside it."""


def pass_names() -> Iterable[str]:
    """The passes over layers, then those over linalg operations."""
    from ncc.compiler.explain_linalg import explained_passes
    from ncc.compiler.ncnn.optimize import pattern_names

    return [*pattern_names(), *explained_passes()]


def named_pass(name: str) -> str:
    """choose-convolution"""
    from ncc.compiler.ncnn.optimize import pattern_names
    from ncc.runtime.errors import InputError, did_you_mean

    if name not in pattern_names() and name not in (known := list(pass_names())):
        unknown = f"there is no pass {name!r}: `ncc explain --list-passes` shows all"
        suggestion = did_you_mean(name, known)
        raise click.BadParameter(str(InputError(unknown, suggestion=suggestion)))
    return name


def documented() -> Mapping[str, str]:
    """Every pass that --pass knows, with its docstring."""
    from ncc.compiler.explain import passes
    from ncc.compiler.explain_linalg import explained_passes

    return {**passes(), **explained_passes()}


@click.command("explain", short_help="Say what becomes of each layer, and why.")
@PARAM
@BIN
@click.option(
    "--blob",
    "blobs",
    type=named_blob,
    multiple=True,
    metavar="NAME",
    help="Say which rewrites changed this blob.",
)
@click.option(
    "--pass",
    "passes",
    type=named_pass,
    multiple=True,
    metavar="NAME",
    shell_complete=completed(pass_names),
    help="Say where this pass applies, of `ncc optimize` or `ncc compile`, and where not.",
)
@list_passes(documented)
@click.option(
    "--kernel",
    "kernels",
    multiple=True,
    metavar="NAME",
    help="Say how this kernel, or the kernels of this layer, are computed here, and why.",
)
@click.option(
    "--sizes",
    is_flag=True,
    help="Say whether one compilation runs every size of the inputs, and why not.",
)
@click.option(
    "--shape",
    "--input",
    "shapes",
    type=asked_shape,
    multiple=True,
    callback=once,
    metavar="NAME=SHAPE",
    help="The shape of an input that the file leaves open, or another shape: data=3x224x224. "
    "--sizes and --kernel take open shapes, as `ncc compile` does.",
)
@CODE
@JSON
def explain_command(
    param: str,
    bin: str | None,
    blobs: tuple[str, ...],
    passes: tuple[str, ...],
    kernels: tuple[str, ...],
    sizes: bool,
    shapes: AskedShapes,
    opt_level: int,
    num_threads: int,
    target: str,
    as_json: bool,
) -> None:
    """Say what `ncc optimize` does to PARAM: to every layer, or to one blob, or by one pass.

    For a blob, and for a pass of `ncc compile`, say also what a compilation decides, and why, with
    the given -O, --threads and --target.

    With --kernel, say which layers a kernel of `ncc compile` computes, why it has its schedule, and
    where its time goes.

    With --sizes, say which layers need one size, or which sizes one compilation is for. Without
    --shape, those extents are open that the file leaves open; if it leaves none, all but the
    channels of images.

    BIN: the .bin beside PARAM, or null for random weights. Nothing is written.
    """
    from ncc.compiler.optimizer import NO_WEIGHTS, SEED

    chosen: dict[str, Any] = {"opt_level": opt_level, "num_threads": num_threads}
    chosen |= {"target": target, "input_shapes": dict(shapes)}
    chosen["random_weights"] = SEED if bin == NO_WEIGHTS else None
    if kernels or sizes:
        if blobs or passes or (kernels and sizes):
            name = "--kernel" if kernels else "--sizes"
            raise click.UsageError(f"{name} explains a compilation: leave out all other questions")
        files = param, None if bin == NO_WEIGHTS else bin
        _explain_compilation(files, kernels, chosen, as_json)
        return
    chosen["input_shapes"] = dict(map(without_ranges, shapes))
    explained = _explained(param, bin, blobs, passes, chosen)
    echo_json(explained.for_json()) if as_json else click.echo("\n".join(explained.lines()))


@dataclass(frozen=True)
class _Explained:
    """The fates of layers, or of blobs and passes; compiled: the decisions of a compilation."""

    layers: Sequence[LayerFate]
    blobs: Sequence[BlobFate]
    passes: Sequence[PassFate | CompiledPassFate]
    compiled: Decided | None

    def lines(self) -> Iterator[str]:
        """The text for people: behind a blob, the decisions for the layer that makes it."""
        for blob in self.blobs:
            yield from blob.lines()
            survivor = blob.maker.survivor
            if self.compiled is not None and survivor is not None:
                yield from self.compiled.lines_of(survivor)
        for one in self.passes:
            yield from one.lines()
        yield from map(str, self.layers)

    def for_json(self) -> dict[str, list[dict[str, Any]]]:
        """The same for programs."""
        survivors = {blob.maker.survivor for blob in self.blobs}
        decisions = [] if self.compiled is None else self.compiled.of_layers(survivors)
        return {
            "layers": [asdict(fate) for fate in self.layers],
            "blobs": [asdict(fate) for fate in self.blobs],
            "passes": [asdict(fate) for fate in self.passes],
            "decisions": [asdict(decision) for decision in decisions],
        }


def _explained(
    param: str,
    bin: str | None,
    blobs: Sequence[str],
    passes: Sequence[str],
    chosen: Mapping[str, Any],
) -> _Explained:
    """What becomes of these blobs, by these passes; of all layers if none of either are named.

    The network is optimized if a question is about layers, and compiled if one is about linalg
    operations.
    """
    from ncc.compiler.explain import fate_of_blob, fates, why_not
    from ncc.compiler.ncnn.optimize import pattern_names
    from ncc.compiler.optimizer import NO_WEIGHTS, optimize_network
    from ncc.compiler.options import Options

    of_layers: list[LayerFate] = []
    of_blobs: list[BlobFate] = []
    of_passes: list[PassFate | CompiledPassFate] = []
    over_linalg = [name for name in passes if name not in pattern_names()]
    over_layers = [name for name in passes if name in pattern_names()]
    if blobs or over_layers or not passes:
        with progress(f"optimizing {param}"):
            done = optimize_network(param, bin, input_shapes=chosen["input_shapes"])
        for warning in done.warnings:
            click.echo(warning, err=True)
        of_blobs = [fate_of_blob(done, blob) for blob in blobs]
        of_passes += [why_not(done, name) for name in over_layers]
        of_layers = [] if blobs or passes else list(fates(done))
    compiled = None
    if blobs or over_linalg:
        files = param, None if bin == NO_WEIGHTS else bin
        with progress(f"compiling {param}"):
            compiled = _decided(files, Options.of(**chosen), required=bool(over_linalg))
    if compiled is not None:
        of_passes += [compiled.of_pass(name) for name in over_linalg]
    return _Explained(of_layers, of_blobs, of_passes, compiled)


def _decided(files: Files, options: Options, required: bool) -> Decided | None:
    """The decisions of passes over linalg operations.

    If the network cannot be compiled, the reason is a warning; it is an error if the decisions are
    required.
    """
    from ncc.compiler.diagnostics import ModelError, Unsupported
    from ncc.compiler.explain_linalg import decided
    from ncc.runtime.errors import InputError

    try:
        return decided(*files, options)
    except (ModelError, InputError, Unsupported) as error:
        if required:
            raise
        click.echo(f"warning: what a compilation decides is not known\n{error}", err=True)
        return None


def _explain_compilation(
    files: Files, kernels: Sequence[str], options: Mapping[str, Any], as_json: bool
) -> None:
    """Print what is known of some kernels; if there are none, of sizes."""
    if kernels:
        told = _of_kernels(files, kernels, options)
        echo_json({"kernels": told}) if as_json else click.echo("\n".join(told))
        return
    of_sizes = _of_sizes(files, options)
    echo_json(asdict(of_sizes)) if as_json else click.echo("\n".join(of_sizes.lines()))


def _of_sizes(files: Files, options: Mapping[str, Any]) -> SizesFate:
    """Whether one compilation is for every size."""
    from ncc.compiler.explain_sizes import fate_of_sizes
    from ncc.compiler.options import Options

    with progress(f"compiling {files[0]}"):
        return fate_of_sizes(*files, Options.of(**options))


def _of_kernels(files: Files, names: Sequence[str], options: Mapping[str, Any]) -> list[str]:
    """The explanation of kernels of a compilation."""
    from ncc.compiler.driver.tuned import schedules_for
    from ncc.compiler.loops.explain_kernel import explain_kernels
    from ncc.compiler.pipeline import kernels_of

    with progress(f"compiling {files[0]}"):
        kernels = kernels_of(*files, schedules_for, **options)
    return list(explain_kernels(kernels, names))
