"""Reads kernels from the text that `kernel_text.py` writes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from xdsl.ir import Block, SSAValue
from xdsl.parser import Parser

from ncc.compiler.linalg.analysis.attributes import Matrix
from ncc.compiler.loops.kernel.kernel import (
    Access,
    Bf16Split,
    Captured,
    Gap,
    GatherTable,
    Kernel,
    KSplit,
    Stage,
)

T = TypeVar("T")


class KernelParser:
    """Reads the clauses of one kernel."""

    def __init__(self, parser: Parser) -> None:
        self.parser = parser
        self.rank = 0
        self.captured: dict[SSAValue, Captured] = {}

    def parse(self) -> Kernel:
        """The kernel whose clauses come next; raises xDSL's ParseError."""
        parser = self.parser
        parser.parse_keyword("arguments")
        element_types = tuple(self.listed(parser.parse_type))
        parser.parse_keyword("loops")
        has_loops = parser.parse_optional_keyword("none") is None
        loops = self.listed(self._extent) if has_loops else []
        self.rank = len(loops)
        valid_extents = tuple(self._each("valid", lambda: self._loops_and("to")))
        index_of = dict(next(self._each("indices", lambda: self.listed(self._index)), ()))
        matrices = next(self._each("matrices", self._matrices), None)
        lanes = next(self._each("lanes", self.integers), None)
        k_split = next(self._each("k_split", lambda: KSplit(*self._loops_and("by"))), None)
        parser.parse_keyword("from")
        initial = self._initial()
        accumulates = parser.parse_optional_keyword("sum") is not None
        if not accumulates:
            parser.parse_keyword("map")
        anchor = self._stage()
        epilogue = tuple(self._each("then", self._stage))
        parser.parse_keyword("store")
        store = self.access()
        return Kernel(
            extents=tuple(extent for extent, _ in loops),
            reduced=frozenset(d for d, (_, is_reduced) in enumerate(loops) if is_reduced),
            valid_extents=valid_extents,
            anchor=anchor,
            accumulates=accumulates,
            initial=initial,
            epilogue=epilogue,
            store=store,
            element_types=element_types,
            captured=self.captured,
            index_of=index_of,
            matrices=matrices,
            bf16_split=next(self._each("bf16_split", self._bf16_split), None),
            lanes=lanes,
            k_split=k_split,
        )

    def _each(self, keyword: str, parse: Callable[[], T]) -> Iterator[T]:
        """The clauses after each occurrence of a keyword."""
        while self.parser.parse_optional_keyword(keyword) is not None:
            yield parse()

    def listed(self, parse: Callable[[], T]) -> list[T]:
        return self.parser.parse_comma_separated_list(Parser.Delimiter.NONE, parse)

    def _in_brackets(self, parse: Callable[[], T]) -> tuple[T, ...]:
        return tuple(self.parser.parse_comma_separated_list(Parser.Delimiter.SQUARE, parse))

    def integers(self) -> tuple[int, ...]:
        return self._in_brackets(self.parser.parse_integer)

    def loop(self) -> int:
        return self._known(self._numbered("d"))

    def _known(self, loop: int) -> int:
        if loop >= self.rank:
            self.parser.raise_error(f"there is no loop d{loop}")
        return loop

    def _numbered(self, letters: str) -> int:
        """The number behind the letters of a loop or an argument."""
        found, number = self._name()
        if found != letters:
            self.parser.raise_error(f"{letters} and a number expected")
        return number

    def _name(self) -> tuple[str, int]:
        """The name of a loop or an argument: letters and a number."""
        name = self.parser.parse_identifier()
        letters = name.rstrip("0123456789")
        if letters == name:
            self.parser.raise_error(f"a number expected behind {name}")
        return letters, int(name[len(letters) :])

    def _extent(self) -> tuple[int, bool]:
        """The extent of a loop, and whether it is reduced."""
        is_reduced = self.parser.parse_optional_keyword("sum") is not None
        self._numbered("d")
        self.parser.parse_punctuation("=")
        return self.parser.parse_integer(), is_reduced

    def _loops_and(self, keyword: str) -> tuple[int, int, int]:
        """Two loops, and a number behind a keyword."""
        outer = self.loop()
        self.parser.parse_punctuation(",")
        inner = self.loop()
        self.parser.parse_keyword(keyword)
        return outer, inner, self.parser.parse_integer()

    def _index(self) -> tuple[int, int | None]:
        number = self.parser.parse_integer()
        self.parser.parse_punctuation("=")
        if self.parser.parse_optional_keyword("part") is not None:
            return number, None
        return number, self.loop()

    def _matrices(self) -> tuple[Matrix, Matrix]:
        def matrix() -> Matrix:
            return self._in_brackets(lambda: self._in_brackets(self.number))

        first, second = self.listed(matrix)
        return first, second

    def number(self) -> float:
        text = self.parser.parse_optional_str_literal()
        return self.parser.parse_number() if text is None else float(text)

    def _initial(self) -> float | Stage | None:
        if self.parser.parse_optional_keyword("memory") is not None:
            return None
        is_stage = self.parser.parse_optional_punctuation("(") is not None
        return self._stage(is_open=True) if is_stage else self.number()

    def _bf16_split(self) -> Bf16Split:
        parser, stage = self.parser, self._stage()
        parser.parse_keyword("store")
        alone = parser.parse_optional_keyword("alone") is not None
        store = self.access()
        parser.parse_punctuation(",")
        parser.parse_keyword("low")
        distance = parser.parse_integer()
        parser.parse_punctuation(",")
        parser.parse_keyword("pairs")
        pairs = self.loop()
        parser.parse_keyword("back")
        return Bf16Split(stage, store, distance, pairs, parser.parse_integer(), alone)

    def access(self) -> Access:
        return self._access_of(self._numbered("arg"))

    def _access_of(self, argument: int) -> Access:
        """The rest of an access whose argument has been read."""
        parser = self.parser
        offset, coefficients = 0, [0] * self.rank
        table: GatherTable | None = None
        gap: Gap | None = None
        parser.parse_punctuation("[")
        sign = -1 if parser.parse_optional_punctuation("-") is not None else 1
        while True:
            factor = parser.parse_optional_integer(allow_boolean=False, allow_negative=False)
            if factor is not None and parser.parse_optional_punctuation("*") is None:
                offset += sign * factor
            elif factor is not None and parser.parse_optional_punctuation("(") is not None:
                gap = self._gap(sign * factor)
            else:
                letters, number = self._name()
                if letters == "arg":
                    at = self._access_of(number)
                    parser.parse_keyword("to")
                    table = GatherTable(at, parser.parse_integer())
                else:
                    coefficients[self._known(number)] += sign * (1 if factor is None else factor)
            if parser.parse_optional_punctuation("]") is not None:
                return Access(argument, offset, tuple(coefficients), table, gap)
            sign = 1 if parser.parse_optional_punctuation("+") is not None else -1
            if sign == -1:
                parser.parse_punctuation("-")

    def _gap(self, elements: int) -> Gap:
        """The rest of a gap of so many elements."""
        loop = self.loop()
        self.parser.parse_punctuation("/")
        length = self.parser.parse_integer()
        self.parser.parse_punctuation(")")
        return Gap(loop, length, elements)

    def _stage(self, is_open: bool = False) -> Stage:
        """A body and its arguments. is_open: the parenthesis has been read."""
        parser = self.parser
        if not is_open:
            parser.parse_punctuation("(")
        arguments: list[Parser.Argument] = []
        inputs: list[Access | None] = []
        captured: list[Captured] = []
        while parser.parse_optional_punctuation(")") is None:
            if arguments:
                parser.parse_punctuation(",")
            arguments.append(parser.parse_argument())
            if parser.parse_optional_punctuation("=") is None:
                inputs.append(None)
            elif parser.parse_optional_keyword("out") is None:
                argument = self._numbered("arg")
                if parser.parse_optional_keyword("strides") is not None:
                    captured.append(Captured(argument, self.integers()))
                else:
                    inputs.append(self._access_of(argument))
        body = parser.parse_region(arguments).block
        self._capture(body, captured)
        return Stage(body, tuple(inputs))

    def _capture(self, body: Block, captured: Sequence[Captured]) -> None:
        """Replace the last arguments of a body by values from outside."""
        inside = body.args[len(body.args) - len(captured) :]
        outside = Block(arg_types=[argument.type for argument in inside]).args
        for argument, value, source in zip(inside, outside, captured, strict=True):
            argument.replace_all_uses_with(value)
            body.erase_arg(argument)
            self.captured[value] = source
