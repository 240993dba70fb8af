"""Writes modules as .onnx files, with what goes in and what torch makes of it."""

from __future__ import annotations

import contextlib
import io
import logging
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ncc.runtime.results import Array

if TYPE_CHECKING:
    from tests.onnx.torch_modules.registry import Case

FAMILIES = (
    "arithmetic",
    "attention",
    "indexing",
    "layers",
    "networks",
    "recurrent",
    "sampling",
    "shapes",
    "transformers",
)
"""The files of modules. They import torch, so they are imported when they are asked for."""

EXPORTERS = ("dynamo", "script")


@dataclass(frozen=True)
class Exported:
    """A model, the arrays that go in, in their order, and those that come out."""

    name: str
    path: Path
    inputs: list[Array]
    outputs: list[Array]


def load(families: Iterable[str]) -> Iterator[Case]:
    """The modules of some files, one by one, with the same random numbers each time."""
    import torch

    from tests.onnx.torch_modules import registry

    for family in families:
        before = set(registry.CASES)
        torch.manual_seed(0)
        import_module(f"tests.onnx.torch_modules.{family}")
        yield from (case for name, case in registry.CASES.items() if name not in before)


def export(case: Case, exporter: str, folder: Path) -> Exported | str:
    """The model of a module; the reason where torch cannot export it."""
    import torch

    path = folder / f"{case.name}.{exporter}.onnx"
    refusal = path.with_suffix(".txt")
    folder.mkdir(parents=True, exist_ok=True)
    with torch.no_grad():
        inputs = [_copied(x) for x in case.inputs]
        outputs = list(_flat(case.module(*inputs)))
        if refusal.exists():
            return refusal.read_text()
        if not path.exists():
            try:
                _write(case, exporter, path)
            except Exception as error:  # of whichever class: it is told
                lines = str(error.__cause__ or error).strip().splitlines()
                refusal.write_text((lines or [type(error).__name__])[0][:160])
                return refusal.read_text()
    arrays = [[_array(x) for x in several] for several in (case.inputs, outputs)]
    return Exported(f"{case.name} ({exporter})", path, *arrays)


def _write(case: Case, exporter: str, path: Path) -> None:
    import torch

    from tests.onnx.torch_modules.vision import translations

    inputs = tuple(_copied(x) for x in case.inputs)
    logging.disable(logging.WARNING)
    silent = contextlib.redirect_stdout(io.StringIO())
    with warnings.catch_warnings(), silent, contextlib.redirect_stderr(io.StringIO()):
        warnings.simplefilter("ignore")
        if exporter == "dynamo":
            table = translations()
            torch.onnx.export(case.module, inputs, str(path), custom_translation_table=table)
        else:
            torch.onnx.export(case.module, inputs, str(path), dynamo=False)
    logging.disable(logging.NOTSET)


def _copied(x: Any) -> Any:
    return x.clone()


def _flat(made: Any) -> Iterator[Any]:
    if isinstance(made, Sequence):
        for one in made:
            yield from _flat(one)
    else:
        yield made


def _array(tensor: Any) -> Array:
    return np.asarray(tensor.detach().cpu().numpy())
