"""The key of a model: another one where anything differs that it depends on."""

from __future__ import annotations

import os
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from ncc.compiler.driver import keys as key_module
from ncc.compiler.driver.keys import kernel_key, model_key
from ncc.compiler.driver.tuned import tuned_file
from ncc.compiler.options import Options
from ncc.compiler.target import AVX2, AVX512, BASELINE, ONE_UNIT

CHOSEN = Options(target=BASELINE)


@pytest.fixture(name="param")
def net(tmp_path: Path) -> Path:
    """The files of a network; nobody reads what is in them."""
    (tmp_path / "net.param").write_text("7767517")
    (tmp_path / "net.bin").write_bytes(b"1234")
    return tmp_path / "net.param"


def test_a_key_is_the_same_until_something_differs(
    param: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Text, the size of the weights, their file, name, options, and ncc itself."""
    bin = param.with_name("net.bin")
    found = [model_key(param, bin, CHOSEN)]
    assert found[0] == model_key(str(param), str(bin), replace(CHOSEN))
    others = (
        replace(CHOSEN, opt_level=1),
        replace(CHOSEN, num_threads=2),
        replace(CHOSEN, target=AVX2),
        replace(CHOSEN, target=replace(BASELINE, features=AVX2.features)),
        replace(CHOSEN, outputs=("a",)),
        replace(CHOSEN, input_shapes={"data": (3, 8, 8)}),
    )
    found += [model_key(param, bin, options) for options in others]
    found.append(model_key(param, None, CHOSEN))  # which names the file that is missing
    renamed = param.rename(param.with_name("other.param"))
    found.append(model_key(renamed, bin, CHOSEN))
    renamed.rename(param)
    bin.write_bytes(b"12345")
    found.append(model_key(param, bin, CHOSEN))
    param.write_text("7767517\n")
    found.append(model_key(param, bin, CHOSEN))
    monkeypatch.setattr(key_module, "compiler_version", lambda: "another")
    found.append(model_key(param, bin, CHOSEN))
    assert None not in found and len(set(found)) == len(found)


def test_what_the_numbers_are_makes_no_difference(param: Path) -> None:
    """They are looked up when the model is made."""
    before = model_key(param, None, CHOSEN)
    param.with_name("net.bin").write_bytes(b"4321")
    assert model_key(param, None, CHOSEN) == before


def test_what_is_read_once_has_no_key(param: Path) -> None:
    """A pipe, and a file that is not there; weights may be missing, as where they are made up."""
    os.mkfifo(param.with_name("pipe"))
    assert model_key(param.with_name("pipe"), None, CHOSEN) is None
    assert model_key(param, param.with_name("pipe"), CHOSEN) is None
    assert model_key(param.with_name("none.param"), None, CHOSEN) is None
    assert model_key(param, param.with_name("none.bin"), CHOSEN) is not None


def test_key_tells_targets_apart() -> None:
    """The same loops are other code on another CPU, whatever of it is another one."""
    features = frozenset({"fma"})
    others: dict[str, Any] = {"name": "n", "cpu": "c", "features": features, "core": ONE_UNIT}
    targets = [AVX512, AVX2, BASELINE, *(replace(AVX2, **{n: v}) for n, v in others.items())]
    assert len({kernel_key("a kernel", target) for target in targets}) == len(targets)


OTHERS: dict[str, dict[str, Any]] = {
    "opt_level": {"opt_level": 1},
    "num_threads": {"num_threads": 2},
    "target": {"target": "baseline"},
    "input_shapes": {"input_shapes": {"data": (4, 5, 7)}},
    "inputs": {"inputs": {"data": "bgr"}},
    "input_types": {"input_types": {"data": "float32"}},
    "outputs": {"outputs": ("a",)},
    "pixel_outputs": {"outputs": {"a": "uint8,hwc,rgb"}},
    "random_weights": {"random_weights": 1},
    "timestamps": {"timestamps": True},
    "trace": {"trace": True},
    "tuned": {"tuned": False},
    "by_sample": {"by_sample": False},
    "verify_each": {"verify_each": True},
    "ranges": {"input_shapes": {"data": (4, (5, 9), 7)}},
}


def test_every_option_is_in_the_key(
    own_cache: Path, param: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And so are the files, by names, the text of one and the size of the other; and ncc itself."""
    usual = Options.of(target="avx2")
    assert {field.name for field in fields(Options)} - {"precision", "ahead", "hints"} == (
        set(OTHERS)
    )
    keys = [model_key(param, None, usual)]
    keys.append(model_key(param, None, replace(usual, hints={"data": (4, 5, 7)})))
    for changed in OTHERS.values():
        keys.append(model_key(param, None, Options.of(**{"target": "avx2", **changed})))
    tuned_file(os.environ, usual.target).add({"kernel": "schedule"})
    keys.append(model_key(param, None, usual))
    core = replace(usual.target.core, l2_bytes=12345)
    keys.append(model_key(param, None, replace(usual, target=replace(usual.target, core=core))))
    features = replace(usual.target, features=frozenset({"fma"}))
    keys.append(model_key(param, None, replace(usual, target=features)))
    bin, other = param.with_suffix(".bin"), param.with_name("other.bin")
    other.write_bytes(b"1234")
    alike = param.with_name("alike.param")
    alike.write_text(param.read_text())
    keys += [model_key(*files, usual) for files in ((param, bin), (param, other), (alike, bin))]
    with monkeypatch.context() as patch:
        patch.setattr(key_module, "compiler_version", lambda: "another compiler")
        keys.append(model_key(param, None, usual))
    bin.write_bytes(bytes(12))
    keys.append(model_key(param, None, usual))
    param.write_text("7767517 ")
    keys.append(model_key(param, None, usual))
    assert len(set(keys)) == len(keys) and None not in keys
