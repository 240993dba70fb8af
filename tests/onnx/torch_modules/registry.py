"""Small torch modules to export, each written as a function.

    @module(rand(2, 3, 8), inner=nn.Linear(8, 4))
    def linear(m, x):
        return m.inner(x)

`m` has the parts by their names: modules, parameters, and tensors, which become buffers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn


@dataclass(frozen=True)
class Case:
    """A module and what it is called with."""

    name: str
    module: Any
    inputs: tuple[Any, ...]


CASES: dict[str, Case] = {}


class Written(nn.Module):  # type: ignore[misc]  # torch is no dependency, so this is Any
    """The module of a function and its parts."""

    def __init__(self, function: Callable[..., Any], parts: dict[str, Any]) -> None:
        super().__init__()
        self.function = function
        for name, part in parts.items():
            if isinstance(part, torch.Tensor) and not isinstance(part, nn.Parameter):
                self.register_buffer(name, part)
            else:
                setattr(self, name, part)

    def forward(self, *inputs: Any) -> Any:
        return self.function(self, *inputs)


def module(*inputs: Any, **parts: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a function as a module."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        name = function.__name__
        assert name not in CASES, name
        CASES[name] = Case(name, Written(function, parts).eval(), inputs)
        return function

    return register


def rand(*shape: int) -> Any:
    """Numbers of a normal distribution."""
    return torch.randn(*shape)


def param(*shape: int) -> Any:
    """A parameter of such numbers."""
    return nn.Parameter(torch.randn(*shape))


def heads(x: Any, count: int) -> Any:
    """(batch, rows, features) as (batch, heads, rows, features)."""
    batch, rows, features = x.shape
    return x.reshape(batch, rows, count, features // count).transpose(1, 2)


def together(x: Any) -> Any:
    """The same back."""
    return x.transpose(1, 2).flatten(2)
