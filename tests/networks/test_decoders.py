"""Decoders of language models: a prompt in one run, then a token a run, with caches."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ncc
from ncc.compiler.driver import assemble
from ncc.compiler.driver.specialise import OpenModel
from ncc.compiler.optimizer import optimize
from ncc.compiler.read.read_network import read
from ncc.compiler.verification import oracle
from ncc.compiler.verification.interpret import interpret
from ncc.compiler.verification.verify import verify
from ncc.compiler.write.write_network import write
from ncc.runtime.session import Model
from tests.crossed import in_turn, some

Array = np.ndarray[Any, Any]

SMALL = Path(__file__).parents[2] / "examples" / "decoder" / "decoder.param"
LARGE = Path(__file__).parents[3] / "shared" / "models" / "llm"
NAMES = ["llama3.2_1b", "minicpm4_0.5b", "qwen2.5_0.5b", "qwen3_0.6b", "tinyllama_1.1b"]
NAMES += ["youtu_llm_2b"]

PROMPT, MORE = 16, 3
SEED = 7


@dataclass
class Decoder:
    """A decoder, what it reads, and what it should make of it."""

    param: Path
    hidden: int
    half: int

    def __post_init__(self) -> None:
        generator = np.random.default_rng(0)
        self.x = generator.standard_normal((PROMPT + MORE, self.hidden), np.float32)

    def shapes(self, tokens: int) -> dict[str, tuple[int, int]]:
        """The shapes that must be said: the mask and the caches follow."""
        angles = (tokens, self.half)
        return {"in0": (tokens, self.hidden), "in2": angles, "in3": angles}

    def feeds(self, first: int, last: int) -> dict[str, Array]:
        """What is fed for the tokens from `first` to `last`, but for the caches."""
        positions = np.arange(first, last)[:, None]
        angles = positions * 10000.0 ** (-np.arange(self.half) / self.half)
        mask = np.where(np.arange(last) > positions, -1e38, 0)
        arrays = {"in1": mask, "in2": np.cos(angles), "in3": np.sin(angles)}
        plain = {name: array.astype(np.float32) for name, array in arrays.items()}
        return {"in0": self.x[first:last], **plain}

    def decode(self, prompt: Model, step: Model) -> tuple[Array, dict[str, Array]]:
        """All rows of out0, and the caches at the end."""
        caches = empty(prompt)
        results = prompt.run({**self.feeds(0, PROMPT), **caches})
        rows = [results["out0"]]
        for place in range(PROMPT, PROMPT + MORE):
            caches = {name: results[f"out_{name}"] for name in caches}
            results = step.run({**self.feeds(place, place + 1), **caches})
            rows.append(results["out0"])
        return np.concatenate(rows), {name: results[f"out_{name}"] for name in caches}


def empty(model: Model) -> dict[str, Array]:
    """Empty caches."""
    names = [binding.name for binding in model.inputs if binding.name.startswith("cache")]
    return {name: np.zeros(0, np.float32) for name in names}


def opened(param: Path) -> Decoder:
    lines = [line.split() for line in param.read_text().splitlines()]
    hidden = next(line for line in lines if line[0] == "RMSNorm")
    half = 32 if "youtu" in param.name else 0
    if not half:
        split = next(line for line in lines if line[0] == "Reshape")
        half = int(split[6].partition("=")[2]) // 2
    return Decoder(param, int(hidden[6].partition("=")[2]), half)


def truncated(name: str, blocks: int, folder: Path) -> Path:
    """The first blocks of a decoder of the benchmark, and its last layer."""
    lines = [
        line.split() for line in (LARGE / f"{name}_decoder.ncnn.param").read_text().splitlines()
    ]
    sums = [k for k, line in enumerate(lines) if line[:1] == ["BinaryOp"] and line[-1] == "0=0"]
    end = sums[2 * blocks - 1]
    norm = lines[-1]
    kept = [*lines[2 : end + 1], [*norm[:4], lines[end][6], *norm[5:]]]
    read = {blob for line in kept for blob in line[4 : 4 + int(line[2])]}
    made = []
    for line in kept:
        inputs = 4 + int(line[2])
        outputs = line[inputs : inputs + int(line[3])]
        if line[0] in ("Split", "Input"):
            outputs = [blob for blob in outputs if blob in read]
            line = [*line[:3], str(len(outputs)), *line[4:inputs], *outputs]
        if outputs:
            made.append(line)
    count = sum(int(line[3]) for line in made)
    path = folder / f"{name}.param"
    path.write_text("\n".join(["7767517", f"{len(made)} {count}", *map(" ".join, made), ""]))
    return path


def by_ncnn(decoder: Decoder, folder: Path) -> Array:
    """out0 of ncnn, which reads all tokens at once."""
    if not oracle.available():
        pytest.skip("the ncnn wheel is not installed")
    module = read(decoder.param, None, random_weights=SEED).module
    paths = folder / "whole.param", folder / "whole.bin"
    write(module, *paths)
    names = [name for name in interpretable(decoder) if name.startswith("cache")]
    feeds: Mapping[str, Array] = {
        **decoder.feeds(0, PROMPT + MORE),
        **{name: np.zeros(0, np.float32) for name in names},
    }
    found = oracle.run(*paths, feeds, ["out0"])["out0"]
    paths[1].unlink()
    return found


def interpretable(decoder: Decoder) -> list[str]:
    """The names of the inputs."""
    inputs = [line.split() for line in decoder.param.read_text().splitlines()]
    return [blob for line in inputs if line[0] == "Input" for blob in line[4:]]


def compiled(decoder: Decoder, tokens: int, **options: Any) -> Model:
    return ncc.compile(
        decoder.param, random_weights=SEED, input_shapes=decoder.shapes(tokens), **options
    )


@pytest.mark.parametrize(
    "way", some([(2, "host"), (0, "host"), (1, "host"), (2, "baseline")], usual=1), ids=str
)
def test_a_small_decoder(way: tuple[int, str]) -> None:
    """Prompt and steps, on two threads, are what the references make of all tokens at once."""
    level, target = way
    decoder = opened(SMALL)
    models = [
        compiled(decoder, tokens, opt_level=level, target=target, num_threads=2)
        for tokens in (PROMPT, 1)
    ]
    found, caches = decoder.decode(models[0], models[1])
    module = read(SMALL, None, random_weights=SEED).module
    feeds = {**decoder.feeds(0, PROMPT + MORE), **empty(models[0])}
    expected = interpret(module, feeds, ["out0", *(f"out_{name}" for name in caches)])
    np.testing.assert_allclose(found, expected["out0"], atol=1e-5)
    for name, cache in caches.items():
        np.testing.assert_allclose(cache, expected[f"out_{name}"], atol=1e-5)


def test_ncnn_makes_the_same_of_it(tmp_path: Path) -> None:
    """Of the small decoder."""
    decoder = opened(SMALL)
    found, _ = decoder.decode(compiled(decoder, PROMPT), compiled(decoder, 1))
    np.testing.assert_allclose(found, by_ncnn(decoder, tmp_path), atol=1e-4)


@pytest.mark.slow
def test_without_any_shape() -> None:
    """One version is for prompts, one for tokens, and both are for every length of the caches."""
    decoder = opened(SMALL)
    model = ncc.compile(SMALL, random_weights=SEED)
    found, caches = decoder.decode(model, model)
    assert "versions for all shapes: 2" in repr(model)
    again, _ = decoder.decode(compiled(decoder, PROMPT), compiled(decoder, 1))
    np.testing.assert_allclose(found, again, atol=1e-5)
    assert {cache.shape for cache in caches.values()} == {(4, PROMPT + MORE, 16)}


def test_a_ranged_cache_of_one_row_has_no_version_of_its_own() -> None:
    """Neither have the first tokens, which have no past."""
    decoder = opened(SMALL)
    shapes: dict[str, Any] = {
        name: (None, columns) for name, (_, columns) in decoder.shapes(1).items()
    }
    shapes["cache_k0"] = (4, (0, 64), 16)
    model = ncc.compile(SMALL, random_weights=SEED, input_shapes=shapes)
    caches: dict[str, Array] = {}
    for place in range(4):
        results = model.run({**decoder.feeds(place, place + 1), **caches})
        caches = {name: results[f"out_{name}"] for name in empty(model)}
    assert "versions for all shapes: 1" in repr(model)


def test_open_extents_of_caches_are_no_question() -> None:
    """Who says that a cache is open gets the same model as who says nothing."""
    decoder = opened(SMALL)
    shapes = {**decoder.shapes(1), "in1": (1, None), "cache_k0": (4, None, 16)}
    model = ncc.compile(SMALL, random_weights=SEED, input_shapes=shapes)
    assert repr(model) == repr(compiled(decoder, 1))


def test_a_saved_step_goes_on(tmp_path: Path) -> None:
    """A file is for every length of the caches: the loaded model decodes the same."""
    decoder = opened(SMALL)
    prompt, step = compiled(decoder, PROMPT), compiled(decoder, 1)
    step.save(tmp_path / "step.ncc")
    found, _ = decoder.decode(prompt, ncc.load(tmp_path / "step.ncc"))
    np.testing.assert_array_equal(found, decoder.decode(prompt, step)[0])


def test_one_file_runs_prompts_and_steps(tmp_path: Path) -> None:
    """Of every length, without a compiler."""
    decoder = opened(SMALL)
    shapes = {name: (None, columns) for name, (_, columns) in decoder.shapes(1).items()}
    model = ncc.compile(SMALL, random_weights=SEED, input_shapes=shapes)
    model.save(tmp_path / "any.ncc")
    saved = ncc.load(tmp_path / "any.ncc")
    found, caches = decoder.decode(saved, saved)
    expected, of_steps = decoder.decode(compiled(decoder, PROMPT), compiled(decoder, 1))
    np.testing.assert_allclose(found, expected, atol=1e-5)
    for name, cache in caches.items():
        np.testing.assert_allclose(cache, of_steps[name], atol=1e-5)


def test_only_what_is_asked_for() -> None:
    """Without the caches among the outputs nothing is appended, and the result is the same."""
    decoder = opened(SMALL)
    model = compiled(decoder, PROMPT, outputs=["out0"])
    feeds = {**decoder.feeds(0, PROMPT), **empty(model)}
    whole = compiled(decoder, PROMPT).run(feeds)["out0"]
    np.testing.assert_array_equal(model.run(feeds)["out0"], whole)


RANGES: list[tuple[dict[str, Any], range]] = [
    ({"cache_k0": (4, (0, 9), 16), "cache_v0": (4, (2, 12), 16)}, range(2, 10)),
    ({"in1": (1, (1, 8))}, range(8)),
    ({"cache_k0": (4, (1, 9), 16)}, range(1, 10)),
    ({"cache_k0": (4, (0, 9), 16)}, range(10)),
    ({"cache_k0": (None, (0, 9), None), "cache_v1": (4, (2, None), 16)}, range(2, 10)),
    ({"in1": (1, (4, 8))}, range(3, 8)),
]
"""Ranges that are asked for, and the rows that caches may have then."""


@pytest.mark.parametrize(("asked", "fitting"), in_turn(RANGES, 3))
def test_ranges_of_caches_and_masks_are_kept(
    asked: dict[str, Any], fitting: range, tmp_path: Path
) -> None:
    """One from 1 has no first token; caches that are not mentioned are as long."""
    decoder = opened(SMALL)
    shapes = {**decoder.shapes(1), **asked}
    model = ncc.compile(SMALL, random_weights=SEED, input_shapes=shapes)
    saved = tmp_path / "ranged.ncc"
    model.save(saved)
    for one in (model, ncc.load(saved)):
        for rows in range(11):
            feeds = {
                **decoder.feeds(rows, rows + 1),
                **{name: np.zeros((4, rows, 16), np.float32) for name in empty(model)},
            }
            if rows in fitting:
                assert one.run(feeds)["out_cache_v0"].shape == (4, rows + 1, 16)
            else:
                with pytest.raises(ncc.InputError):
                    one.run(feeds)


def test_ranges_of_caches_that_cannot_be_are_refused(tmp_path: Path) -> None:
    """With the ranges that layers take."""
    decoder = opened(SMALL)
    for asked, told in (
        ({"cache_k0": (4, (5, 9), 16), "in1": (1, (2, 4))}, "in their ranges fit the layers"),
        ({"cache_k0": (4, (0, 9), (0, 16))}, "a range from 1 along axis 2"),
        ({"in1": (1, (0, 9))}, "a range from 1 along axis 1"),
    ):
        shapes = {**decoder.shapes(1), **asked}
        with pytest.raises(ncc.InputError, match=told):
            ncc.compile(SMALL, random_weights=SEED, input_shapes=shapes).save(tmp_path / "no.ncc")


def test_caches_that_do_not_fit_are_no_reason_to_compile(monkeypatch: pytest.MonkeyPatch) -> None:
    """The layers say what is wrong, before there is a version and behind it."""
    decoder = opened(SMALL)
    model = ncc.compile(SMALL, random_weights=SEED)
    caches = {name: np.zeros((4, 5, 16), np.float32) for name in empty(model)}
    feeds = {**decoder.feeds(5, 6), **caches}
    wrong: list[tuple[dict[str, Array], str]] = [
        ({"cache_v1": np.zeros((4, 4, 16), np.float32)}, "'cache_v1' of 4x4x16.* in their rows"),
        ({"cache_k0": np.zeros((4, 5, 8), np.float32)}, "must be \\(4, rows, 16\\)"),
        ({"in1": np.zeros((1, 7), np.float32)}, "mask is \\(1, 7\\)"),
        (empty(model), "mask is \\(1, 6\\)"),
        ({"in2": np.zeros((2, 8), np.float32)}, "the cosines are \\(2, 8\\)"),
    ]
    assert isinstance(model, OpenModel)
    for _ in range(2):
        with monkeypatch.context() as patch:
            patch.setattr(assemble, "assemble", pytest.fail)
            for other, told in wrong * 2:  # more than the odd shapes of a network
                with pytest.raises(ncc.InputError, match=f"(?s)layers do not take.*{told}"):
                    model.run({**feeds, **other})
            fewer = {name: array for name, array in feeds.items() if name != "in1"}
            with pytest.raises(ncc.InputError, match="no array was given for input 'in1'"):
                model.run(fewer)
        assert model.run(feeds)["out_cache_k0"].shape == (4, 6, 16)
    assert model.reason is None


def test_caches_that_do_not_fit_are_refused() -> None:
    """Arrays that disagree about the rows of the caches, and features of another size."""
    decoder = opened(SMALL)
    step = compiled(decoder, 1)
    caches = {name: np.zeros((4, 5, 16), np.float32) for name in empty(step)}
    feeds = {**decoder.feeds(5, 6), **caches}
    assert step.run(feeds)["out_cache_k0"].shape == (4, 6, 16)
    short = np.zeros((4, 4, 16), np.float32)
    with pytest.raises(ncc.InputError, match="where cache_v1_h == cache_k0_h does not hold"):
        step.run({**feeds, "cache_v1": short})
    with pytest.raises(ncc.InputError, match="'cache_k0' does not fit.*4x0\\.\\.x16"):
        step.run({**feeds, "cache_k0": np.zeros((4, 5, 8), np.float32)})
    with pytest.raises(ncc.InputError, match="'in1' does not fit.*1x\\?"):
        step.run({**feeds, "in1": np.zeros((1, 0), np.float32)})


def test_a_cache_that_is_not_fed_is_empty() -> None:
    """As in ncnn, for a prompt; behind it the mask tells of what was forgotten."""
    decoder = opened(SMALL)
    prompt, open_model = compiled(decoder, PROMPT), ncc.compile(SMALL, random_weights=SEED)
    feeds = decoder.feeds(0, PROMPT)
    expected = prompt.run({**feeds, **empty(prompt)})
    for model in (prompt, open_model):
        found = model.run(feeds)
        for name, array in expected.items():
            np.testing.assert_allclose(found[name], array, atol=1e-5)
    told = "cache_k0_h.* does not hold", r"the mask is \(1, 17\), but must be \(1, 1\)"
    for model, words in zip((compiled(decoder, 1), open_model), told, strict=True):
        with pytest.raises(ncc.InputError, match=words):
            model.run(decoder.feeds(PROMPT, PROMPT + 1))


@pytest.mark.slow
def test_every_blob_is_verified() -> None:
    """Against the references and ncnn, which lays out the keys that it keeps in its own way."""
    decoder = opened(SMALL)
    report = verify(SMALL, random_weights=SEED, input_shapes=decoder.shapes(3))
    assert report.first is None, report.first
    rows = {row.blob: row for row in report.rows}
    assert rows["out_cache_k0"].ncnn is None
    if report.no_ncnn is None:
        assert rows["out_cache_v0"].ncnn is not None and rows["out0"].ncnn is not None


@pytest.mark.slow
def test_rewrites_of_a_decoder_are_tried(tmp_path: Path) -> None:
    """Also of the copies of a mask: Splits go and come back, nothing is refused."""
    decoder = opened(SMALL)
    plain = tmp_path / "plain.param", tmp_path / "plain.bin"
    write(read(SMALL, None, random_weights=SEED).module, *plain)
    files = tmp_path / "small.param", tmp_path / "small.bin"
    report = optimize(*plain, *files, input_shapes=decoder.shapes(3), verify_rewrites=True)
    assert "refused" not in str(report)
    found, _ = decoder.decode(*(compiled(decoder, tokens) for tokens in (PROMPT, 1)))
    written = Decoder(files[0], decoder.hidden, decoder.half)
    models = [ncc.compile(*files, input_shapes=decoder.shapes(tokens)) for tokens in (PROMPT, 1)]
    np.testing.assert_allclose(written.decode(models[0], models[1])[0], found, atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_two_blocks_of_a_large_decoder(name: str, tmp_path: Path) -> None:
    """Of the benchmark's sizes, against ncnn."""
    if not LARGE.is_dir():
        pytest.skip("there is no ../shared/models beside the checkout")
    check_against_ncnn(opened(truncated(name, 2, tmp_path)), tmp_path)


@pytest.mark.sweep
@pytest.mark.parametrize("name", NAMES)
def test_a_whole_large_decoder(name: str, tmp_path: Path) -> None:
    """All of its blocks: 1.4 to 8 GB of weights."""
    path = LARGE / f"{name}_decoder.ncnn.param"
    if not path.is_file():
        pytest.skip("there is no ../shared/models beside the checkout")
    check_against_ncnn(opened(path), tmp_path)


def check_against_ncnn(decoder: Decoder, folder: Path) -> None:
    """A prompt, then steps; the models are not in memory when ncnn's is."""
    model = ncc.compile(decoder.param, random_weights=SEED, num_threads=2)
    found, _ = decoder.decode(model, model)
    del model
    np.testing.assert_allclose(found, by_ncnn(decoder, folder), atol=1e-3)
