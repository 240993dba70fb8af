"""The text form of .param: characters -> records.

    7767517                                        magic
    2 2                                            layers, blobs
    Input  data   0 1 data 0=28 1=28 2=1           type, name, counts, blobs, id=value ...
    ReLU   relu   1 1 data out 0=0.1

A scanner of words, as ncnn's: a layer may be broken over lines up to its last blob name, its
parameters end with the line, and what follows the declared number of layers is not read. Numbers
stay as they are spelled; whether `1` is an integer or a float is for the layer's schema to say.

All problems of a file are found: after one, reading goes on at the next line.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import replace

from ncc.compiler.diagnostics import ModelError, Problem
from ncc.compiler.read.records import (
    MOST_PROBLEMS,
    Graph,
    LayerRecord,
    Location,
    Name,
    RawValue,
    Source,
)
from ncc.compiler.read.value import counted_array, integer, scalar_or_array
from ncc.dialects.ncnn.file_format import ARRAY, LARGEST_PARAM_ID, LONGEST_NAME, MAGIC, SHAPE_HINTS

# A quoted string may hold blanks; elsewhere a blank ends the word. Blanks are those of C.
_WORD = re.compile(r'[+-]?[0-9]+="[^"]*"(?![^ \t\v\f])|[^ \t\v\f]+')
_LINE_END = re.compile(r"\r\n|\n|\r")
_KEY = re.compile(r"([+-]?[0-9]+)=")


def read_text(path: str | os.PathLike[str], data: bytes) -> Graph:
    """The records of a .param file with the content `data`, and every problem in its text.

    Raises ModelError where it does not begin as such a file does.
    """
    name = os.fspath(path)
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise Source(name).error(
            "this is neither a .param text in UTF-8 nor a .param.bin", Location(offset=error.start)
        ) from None
    return _Reader(Source(name, tuple(_LINE_END.split(text)))).read()


class _Scanner:
    """Hands out the words of a file, and tokenizes no line before it is reached."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.line = 0  # the current one, from 1
        self._words: Iterator[re.Match[str]] = iter(())

    def word_on_line(self) -> Name | None:
        """The next word of the current line, or None at its end."""
        match = next(self._words, None)
        if match is None:
            return None
        return Name(match.group(), Location(self.line, match.start() + 1, len(match.group())))

    def word(self) -> Name | None:
        """The next word on this line or a later one, or None at the end of the file."""
        while (word := self.word_on_line()) is None:
            if self.line == len(self.source.lines):
                return None
            self.go_to(self.line + 1)
        return word

    def go_to(self, line: int) -> None:
        """Go on at the start of a line, or at the end of the file."""
        self.line = min(line, len(self.source.lines))
        inside = line <= len(self.source.lines)
        self._words = _WORD.finditer(self.source.lines[line - 1]) if inside else iter(())

    def end(self) -> Location:
        """Behind the last character that is not blank."""
        for number in range(len(self.source.lines), 0, -1):
            if text := self.source.lines[number - 1].rstrip():
                return Location(number, len(text) + 1)
        return Location()


class _Reader:
    """Reads one file, collecting its problems."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.scanner = _Scanner(source)
        self.size = sum(map(len, source.lines)) + len(source.lines)

    def read(self) -> Graph:
        self._magic()
        layer_count, layer_place = self._size_of_network("layer")
        blob_count, blob_place = self._size_of_network("blob")
        layers, problems = self._layers(layer_count, layer_place)
        if not problems:
            problems += self._check_blob_count(layers, blob_count, blob_place)
        warnings = self._warnings(layers, layer_count)
        return Graph(self.source, tuple(layers), warnings, tuple(problems))

    def _magic(self) -> None:
        word = self._word(f"the number {MAGIC}")
        if integer(word.text) != MAGIC:
            raise self.source.error(
                "this is not an ncnn .param file, or one older than its format of today",
                word.place,
                expected=f"the number {MAGIC} at its start",
                found=_shown(word),
            )

    def _size_of_network(self, what: str) -> tuple[int, Location]:
        word = self._word(f"the number of {what}s")
        count = integer(word.text)
        if count is None or count <= 0:
            raise self.source.error(
                f"a network has at least one {what}",
                word.place,
                expected=f"the number of {what}s",
                found=_shown(word),
            )
        return count, word.place

    def _layers(self, count: int, place: Location) -> tuple[list[LayerRecord], list[Problem]]:
        layers: list[LayerRecord] = []
        problems: list[Problem] = []
        while len(layers) + len(problems) < count and len(problems) < MOST_PROBLEMS:
            first = self.scanner.word()
            if first is None:
                if not problems:  # a problem may have swallowed a layer
                    message = (
                        f"the file declares {_counted(count, 'layer')} but holds {len(layers)}"
                    )
                    problems.append(self.source.problem(message, place))
                break
            try:
                layers.append(self._layer(first))
            except ModelError as error:
                problems += error.problems
                # A line that ended too early made us run into the next one: read that one again.
                same_line = self.scanner.line == first.place.line
                self.scanner.go_to(self.scanner.line + 1 if same_line else self.scanner.line)
        return layers, problems

    def _layer(self, type: Name) -> LayerRecord:
        self._check_type(type)
        name = self._name(f"the name of a {type} layer")
        who = f"{type} {name.text!r}"
        input_count = self._count(f"the number of inputs of {who}")
        output_count = self._count(f"the number of outputs of {who}")
        inputs = self._blobs("input", input_count, who)
        outputs = self._blobs("output", output_count, who)
        return LayerRecord(type, name, inputs, outputs, *self._params())

    def _check_type(self, word: Name) -> None:
        self._check_length(word)
        if word.text[0] == "#" or word.text.startswith("//"):
            raise self.source.error("a .param file has no comments", word.place)
        if _KEY.match(word.text) or integer(word.text) is not None:
            raise self.source.error(
                "a layer starts with its type; the parameters of the one before ended with its "
                "line",
                word.place,
                expected="a layer type",
                found=_shown(word),
            )

    def _blobs(self, what: str, count: int, who: str) -> tuple[Name, ...]:
        return tuple(
            self._name(f"the name of {what} {number} of {count} of {who}")
            for number in range(1, count + 1)
        )

    def _name(self, what: str) -> Name:
        word = self._word(what)
        self._check_length(word)
        if _KEY.match(word.text):
            raise self.source.error(
                "a parameter stands where a name should; the counts before it may be wrong",
                word.place,
                expected=what,
                found=_shown(word),
            )
        return word

    def _check_length(self, word: Name) -> None:
        if len(word.text.encode()) > LONGEST_NAME:
            raise self.source.error(
                f"a name is longer than {LONGEST_NAME} bytes", word.place, found=_shown(word)
            )
        if not word.text.isprintable():
            raise self.source.error("a name has an unprintable character", word.place)

    def _count(self, what: str) -> int:
        """A number of names to come, which the file is long enough to hold."""
        word = self._word(what)
        count = integer(word.text)
        if count is None or not 0 <= count <= self.size // 2:
            message = "no such number" if count is None else "no possible number of blobs"
            raise self.source.error(
                f"{_shown(word)} is {message}", word.place, expected=what, found=_shown(word)
            )
        return count

    def _params(self) -> tuple[dict[int, RawValue], tuple[str, ...]]:
        """`id=value` up to the end of the line, read and as it stands there.

        Of a repeated id the last counts.
        """
        params: dict[int, RawValue] = {}
        words: list[str] = []
        while (word := self.scanner.word_on_line()) is not None:
            match = _KEY.match(word.text)
            if match is None:
                raise self.source.error(
                    "the blob names of a layer are followed by its parameters, one layer a line",
                    word.place,
                    expected="id=value or the end of the line",
                    found=_shown(word),
                )
            key = integer(match.group(1))
            is_old_array = key is not None and key <= ARRAY
            id = ARRAY - key if key is not None and is_old_array else key
            if id is None or not 0 <= id <= LARGEST_PARAM_ID:
                raise self.source.error(
                    "there is no such parameter id",
                    replace(word.place, width=match.end()),
                    expected=f"0 to {LARGEST_PARAM_ID}, or {ARRAY} - id for an array",
                    found=match.group(1),
                )
            parse = counted_array if is_old_array else scalar_or_array
            params[id] = parse(self.source, word.text[match.end() :], word.place)
            if id != SHAPE_HINTS:
                words.append(word.text)
        return params, tuple(words)

    def _word(self, what: str) -> Name:
        word = self.scanner.word()
        if word is None:
            raise self.source.error(
                "the file ends too early" if self.size > 1 else "the file is empty",
                self.scanner.end(),
                expected=what,
            )
        return word

    def _check_blob_count(
        self, layers: list[LayerRecord], declared: int, place: Location
    ) -> list[Problem]:
        """Of blobs that layers make: what one reads that nobody makes is a problem of its own."""
        made = len({blob.text for layer in layers for blob in layer.outputs})
        if made <= declared:
            return []
        blobs = _counted(declared, "blob")
        message = f"the file declares {blobs}, but its layers make {made}"
        return [self.source.problem(message, place)]

    def _warnings(self, layers: list[LayerRecord], declared: int) -> tuple[str, ...]:
        later = self.scanner.word()
        if later is None:
            return ()
        message = (
            f"the file declares {_counted(declared, 'layer')}; what follows the last of them is "
            "ignored"
        )
        return (self.source.warning(message, later.place),)


def _shown(word: Name) -> str:
    text = word.text if len(word.text) <= 40 else word.text[:40] + "..."
    return repr(text)


def _counted(count: int, what: str) -> str:
    return f"{count} {what}{'s' * (count != 1)}"
