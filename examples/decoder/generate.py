"""Let a decoder generate tokens: all of the prompt in one run, then one token a run.

python examples/decoder/generate.py [decoder.param proj_out.param]

The files beside this script are those of a language model in the small, and weights are made up: it
has nothing to say, but computes it as a large one would. Any of ncnn's decoders will do.

Inputs: in0 embeddings (tokens, hidden), in1 a mask (tokens, past + tokens), in2 and in3 cosines and
sines (tokens, half a head), and the caches of keys and values (heads, past, head). No
input needs a shape: one compilation runs any prompt, and another one a token behind any past.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import ncc

HERE = Path(__file__).parent
PROMPT = [3, 1, 4, 1, 5]
TOKENS = 12


def rotations(positions: NDArray[Any], half: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Cosine and sine of every position's angles."""
    angles = positions[:, None] * 10000.0 ** (-np.arange(half) / half)
    return np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)


class Decoder:
    """A decoder with its caches."""

    def __init__(self, param: Path, projection: Path) -> None:
        text = param.read_text()
        # One model for any number of tokens: it is compiled for prompts, then for one token.
        self.model = ncc.compile(param, random_weights=1)
        self.project = ncc.compile(projection, random_weights=2)
        self.hidden = extent(text, "RMSNorm")
        self.half = extent(text, "Reshape") // 2
        vocabulary = extent(projection.read_text(), "Gemm", id=8)
        generator = np.random.default_rng(3)
        self.embedding = generator.standard_normal((vocabulary, self.hidden), np.float32)
        self.caches: dict[str, NDArray[Any]] = {}  # what is not fed is empty
        self.past = 0

    def next(self, tokens: list[int]) -> int:
        """The likeliest token behind all tokens so far."""
        count = len(tokens)
        positions = np.arange(self.past, self.past + count)
        cosines, sines = rotations(positions, self.half)
        hidden = np.arange(self.past + count) > positions[:, None]
        feeds = {
            "in0": self.embedding[tokens],
            "in1": np.where(hidden, np.float32(-1e38), np.float32(0)),
            "in2": cosines,
            "in3": sines,
        }
        results = self.model.run({**feeds, **self.caches})
        self.caches = {
            name.removeprefix("out_"): rows
            for name, rows in results.items()
            if name.startswith("out_cache")
        }
        self.past += count
        return int(np.argmax(self.project(results["out0"][-1:])))


def extent(text: str, type: str, id: int = 0) -> int:
    """A param of the first layer of a type."""
    line = next(line for line in text.splitlines() if line.startswith(type))
    return next(int(word[2:]) for word in line.split() if word.startswith(f"{id}="))


def main() -> None:
    paths = [Path(argument) for argument in sys.argv[1:]]
    decoder = Decoder(*(paths or (HERE / "decoder.param", HERE / "proj_out.param")))
    tokens = list(PROMPT)
    given = tokens
    for _ in range(TOKENS):
        tokens.append(decoder.next(given))
        given = tokens[-1:]
    print("prompt:   ", *PROMPT)
    print("generated:", *tokens[len(PROMPT) :])
    print("rows in the caches:", decoder.past)


if __name__ == "__main__":
    main()
