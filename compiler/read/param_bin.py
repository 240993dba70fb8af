"""The binary form of .param: little-endian words -> the same records as from text.

    7767517, layers, blobs
    type, inputs, outputs, input blobs, output blobs      a layer; types and blobs are numbers
      id, word                                            its parameters
      -23300 - id, length, words                            array
      -23400 - id, length in bytes, bytes                   string, zeros up to a whole word
      -233                                                  end of the layer

Names are lost: layers and blobs are named by their numbers. So is the kind of a number: a word is
an integer or a float as the layer's schema says. A broken file has no place to start again, so the
first problem is the only one.
"""

from __future__ import annotations

import os
import struct

from ncc.compiler.diagnostics import ModelError
from ncc.compiler.read.layer_types import FIRST_CUSTOM, LAYER_TYPES
from ncc.compiler.read.records import Graph, LayerRecord, Location, Name, RawValue, Source, Spelling
from ncc.dialects.ncnn.file_format import ARRAY, LARGEST_PARAM_ID, LONGEST_NAME, MAGIC

WORD = 4

_END = -233
_STRING = -23400


def is_binary(data: bytes) -> bool:
    """Whether a file that starts with `data` is a .param.bin, as far as its first word tells."""
    return data[:WORD] == MAGIC.to_bytes(WORD, "little")


def read_binary(path: str | os.PathLike[str], data: bytes) -> Graph:
    """The records of a .param.bin file with the content `data`. Raises ModelError."""
    return _Reader(Source(os.fspath(path)), data).read()


class _Reader:
    """Reads one file from its start to its end."""

    def __init__(self, source: Source, data: bytes) -> None:
        self.source = source
        self.data = data
        self.at = 0

    def read(self) -> Graph:
        if self._word(f"the number {MAGIC}") != MAGIC:
            raise self._error("this is not an ncnn .param.bin file")
        layer_count = self._word("the number of layers")
        # A layer is at least its type, two counts and the end of its parameters.
        if not 0 < layer_count <= self._words_left() // 4:
            raise self._error(f"the file cannot hold {layer_count} layers")
        blob_count = self._word("the number of blobs")
        if blob_count <= 0:
            raise self._error("a network has at least one blob", found=str(blob_count))
        layers = tuple(self._layer(number, blob_count) for number in range(layer_count))
        warnings: tuple[str, ...] = ()
        if left := len(self.data) - self.at:
            warnings = (self.source.warning(f"{left} bytes behind the last layer are ignored"),)
        return Graph(self.source, layers, warnings)

    def _layer(self, number: int, blob_count: int) -> LayerRecord:
        place = Location(offset=self.at)
        type = self._type(number)
        who = f"layer {number} ({type})"
        input_count = self._count(f"the number of inputs of {who}")
        output_count = self._count(f"the number of outputs of {who}")
        inputs = self._blobs(input_count, blob_count, who)
        outputs = self._blobs(output_count, blob_count, who)
        name = Name(str(number), place)
        return LayerRecord(Name(type, place), name, inputs, outputs, self._params(who))

    def _type(self, number: int) -> str:
        index = self._word(f"the type of layer {number}")
        if 0 <= index < len(LAYER_TYPES):
            return LAYER_TYPES[index]
        if index >= FIRST_CUSTOM:
            raise self._error(
                f"layer {number} is of a type that some program added to ncnn: custom type "
                f"{index - FIRST_CUSTOM}",
                how="give the .param that was made into this file: it has the name of the type",
            )
        raise self._error(
            f"layer {number} has an unknown type",
            expected=f"the number of a layer type, 0 to {len(LAYER_TYPES) - 1}",
            found=str(index),
            how="give the .param that was made into this file: it has the name of the type",
        )

    def _blobs(self, count: int, blob_count: int, who: str) -> tuple[Name, ...]:
        names = []
        for _ in range(count):
            place = Location(offset=self.at)
            index = self._word(f"a blob of {who}")
            if not 0 <= index < blob_count:
                raise self._error(
                    f"{who} names a blob that is not there",
                    expected=f"a number from 0 to {blob_count - 1}",
                    found=str(index),
                )
            names.append(Name(str(index), place))
        return tuple(names)

    def _params(self, who: str) -> dict[int, RawValue]:
        params: dict[int, RawValue] = {}
        while (key := self._word(f"a parameter of {who}")) != _END:
            place = Location(offset=self.at - WORD)
            base = _STRING if key <= _STRING else ARRAY if key <= ARRAY else 0
            id = base - key if base else key
            if not 0 <= id <= LARGEST_PARAM_ID:
                raise self._error(
                    f"{who} has a parameter with an id that does not exist",
                    expected=f"0 to {LARGEST_PARAM_ID}",
                    found=str(key),
                )
            what = f"parameter {id} of {who}"
            if base == _STRING:
                params[id] = RawValue(Spelling.STRING, (self._string(what),), place)
            elif base == ARRAY:
                words = self._words(self._count(f"the length of {what}"))
                params[id] = RawValue(Spelling.WORD, words, place, is_array=True)
            else:
                params[id] = RawValue(Spelling.WORD, (self._word(what),), place)
        return params

    def _string(self, what: str) -> str:
        length = self._word(f"the length of {what}")
        padded = -(-length // WORD) * WORD
        if not 0 <= length <= LONGEST_NAME or padded > len(self.data) - self.at:
            raise self._error(
                f"{what} cannot be a string of {length} bytes",
                expected=f"at most {LONGEST_NAME} bytes",
            )
        content = self.data[self.at : self.at + length]
        self.at += padded
        try:
            return content.decode()
        except UnicodeDecodeError:
            raise self._error(f"{what} is not a string in UTF-8") from None

    def _count(self, what: str) -> int:
        """A number of words to come, which the file is long enough to hold."""
        count = self._word(what)
        if not 0 <= count <= self._words_left():
            raise self._error(
                f"{what} cannot be {count}",
                expected=f"at most the {self._words_left()} words that are left",
            )
        return count

    def _words_left(self) -> int:
        return (len(self.data) - self.at) // WORD

    def _word(self, what: str) -> int:
        if not self._words_left():
            place = Location(offset=len(self.data))
            raise self.source.error("the file ends too early", place, expected=what)
        return self._words(1)[0]

    def _words(self, count: int) -> tuple[int, ...]:
        words: tuple[int, ...] = struct.unpack_from(f"<{count}i", self.data, self.at)
        self.at += count * WORD
        return words

    def _error(self, message: str, **said: str | None) -> ModelError:
        """What is wrong with the word read last."""
        return self.source.error(message, Location(offset=max(0, self.at - WORD)), **said)
