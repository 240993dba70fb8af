"""Whether one compilation runs a network at every size of its inputs, and if not, why.

    inputs: data 3x?x?
    layer 'yolo' on line 12: not supported: Reorg of this kind makes tables, or code, for one size
    so no compilation is for all sizes

Without a shape, those extents of inputs are open that the file leaves open; if it leaves none, all
but the channels of images.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from math import ceil, floor
from operator import itemgetter
from textwrap import shorten
from typing import TypeAlias

from xdsl.ir import SSAValue

from ncc.compiler.diagnostics import ModelError, ModelWarning, Unsupported
from ncc.compiler.ncnn.convert_to_linalg import hindrances
from ncc.compiler.ncnn.open_shapes import open_shapes, require_ranks
from ncc.compiler.options import Options
from ncc.compiler.pipeline import Compilation
from ncc.dialects.ncnn.layer import shape_of
from ncc.dialects.ncnn.network import Network, implied_inputs
from ncc.dialects.shapes import OpenShape, shown
from ncc.dialects.size import Assumption, assuming, form_of
from ncc.dialects.size_atoms import Symbol
from ncc.dialects.size_form import ZERO, least
from ncc.dialects.size_needs import needed
from ncc.runtime.extents import Range, shown_range
from ncc.runtime.paths import PathLike

MOST_TRIED = 1024
"""The largest extent that is compared with conditions one by one."""

MOST_SHOWN = 200
"""Characters of a condition, or of ranges."""

ExtentRange: TypeAlias = tuple[int, int]


@dataclass(frozen=True)
class SizesFate:
    """Whether one compilation is for every size.

    inputs: the shape of each, with ? for an open extent. hindrances: the layers, or what else, that
    need one size. conditions: which sizes one compilation runs; none if it runs all. extents: the
    ranges of small extents that meet these, where the conditions do not tell them plainly.
    """

    inputs: Mapping[str, str]
    hindrances: tuple[str, ...]
    conditions: tuple[str, ...]
    extents: Mapping[str, tuple[ExtentRange, ...]] = field(default_factory=dict)

    def lines(self) -> Iterator[str]:
        """What to print."""
        yield "inputs: " + ", ".join(f"{name} {shape}" for name, shape in self.inputs.items())
        yield from self.hindrances
        if self.hindrances:
            yield "so no compilation is for all sizes"
        elif not any("?" in shape or ".." in shape for shape in self.inputs.values()):
            yield "the layers take this size alone"
        elif self.conditions:
            yield "one compilation runs all sizes for which this holds:"
            yield from (f"  {_short(condition)}" for condition in self.conditions)
            for name, ranges in self.extents.items():
                runs = (f"{low} to {high}" if low < high else f"{low}" for low, high in ranges)
                told = _short(", ".join(runs)) or "none"
                yield f"of the numbers up to {MOST_TRIED}, {name} may be {told}"
        else:
            yield "one compilation runs every size that the layers take"


def fate_of_sizes(param: PathLike, bin: PathLike | None, options: Options) -> SizesFate:
    """Compile the network for open shapes, up to its kernels, and tell what stands in the way.

    Raises ModelError where the layers take no shape.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        first = Compilation(param, bin, options)
        known = open_shapes(first.source, options.input_shapes)
        implied = implied_inputs(Network.of(first.source))
        require_ranks({name: shape for name, shape in known.items() if name not in implied})
        asked = {**_opened(first), **options.input_shapes}
        compilation = first.at(asked)
        try:
            with assuming() as assumed:
                module = compilation.network()
                inputs, batch = Network.of(module).inputs, compilation.batch
                taken = {name: _text(value, batch) for name, value in inputs.items()}
                found = hindrances(Network.of(module), options.num_threads)
                if not found:
                    module = compilation.structured(module)
                    compilation.loops(module, compilation.plan(module))
        except (ModelError, Unsupported) as error:
            if isinstance(error, ModelError):
                first.network()  # raises it, if the layers do not take what the file says either
            given = {name: _shown(one, options.ranges.get(name, ())) for name, one in asked.items()}
            return SizesFate(given, (str(error),), ())
    conditions = [] if found else needed(assumed)
    return SizesFate(
        taken, tuple(map(str, found)), tuple(map(str, conditions)), _extents(conditions)
    )


def _extents(conditions: Iterable[Assumption]) -> dict[str, tuple[ExtentRange, ...]]:
    """The ranges that meet the conditions, of each extent about which one alone is no bound."""
    of_one: dict[Symbol, list[Assumption]] = {}
    for one in conditions:
        symbols = tuple(one.form.symbols)
        if len(symbols) == 1:
            of_one.setdefault(symbols[0], []).append(one)
    return {
        symbol.name: tuple(_runs(symbol, asked))
        for symbol, asked in of_one.items()
        if not all(map(_is_plain, asked))
    }


def _is_plain(one: Assumption) -> bool:
    """Whether a condition is about extents themselves: h >= 25."""
    atoms = (atom for monomial, _ in one.form.terms for atom in monomial)
    return all(isinstance(atom, Symbol) for atom in atoms)


def _runs(symbol: Symbol, conditions: Sequence[Assumption]) -> Iterator[ExtentRange]:
    """The ranges of an extent in which all conditions hold."""
    most = MOST_TRIED if symbol.most is None else min(symbol.most, MOST_TRIED)
    tried = range(symbol.least, most + 1)
    fits = [all(c.holds(c.form.value({symbol.name: n})) for c in conditions) for n in tried]
    for is_fit, run in groupby(zip(tried, fits, strict=True), key=itemgetter(1)):
        numbers = [n for n, _ in run]
        if is_fit:
            yield numbers[0], numbers[-1]


def _short(text: str) -> str:
    return shorten(text, MOST_SHOWN, placeholder=" ..")


def _opened(compilation: Compilation) -> dict[str, OpenShape]:
    """The shapes of the inputs as the file leaves them open; if it tells all extents, with all of
    them open, but the channels of images.
    """
    shapes = open_shapes(compilation.source)
    known = {name: shape for name, shape in shapes.items() if shape is not None}
    if any(None in shape for shape in known.values()):
        return known
    return {
        name: tuple(n if axis == 0 and len(shape) > 2 else None for axis, n in enumerate(shape))
        for name, shape in known.items()
    }


def _shown(shape: OpenShape, ranges: Sequence[Range]) -> str:
    """A shape that is asked for, with ? or a range for an open extent."""
    if not ranges:
        return shown(shape)
    pairs = zip(shape, ranges, strict=True)
    return "x".join(shown_range(one) if n is None else str(n) for n, one in pairs)


def _text(value: SSAValue, batch: int | None) -> str:
    """The shape of an input, with ? or a range for an open extent.

    batch: the samples of a call, if the shape is that of one.
    """
    extents = list(map(_extent, shape_of(value) or ()))
    if batch is not None:
        extents[0] = shown((batch,))
    return "x".join(extents)


def _extent(extent: int) -> str:
    form = form_of(extent)
    if form.constant is not None:
        return str(extent)
    low, high = least(form), least(ZERO.plus(form, -1))  # of b_h + 1, too, where a_h has to be that
    first = 1 if low is None else max(0, ceil(low))
    return shown_range((first, None if high is None else floor(-high)))
