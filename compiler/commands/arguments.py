"""What several commands of `ncc` read and show: paths, shapes, a sign of life."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

import click

Decorator: TypeAlias = Callable[[Any], Any]


def named_shape(text: str) -> tuple[str, tuple[int, ...]]:
    """data=3x224x224"""
    name, _, shape = text.rpartition("=")
    extents = shape.split("x")
    if not name or not all(e.isascii() and e.isdigit() and int(e) > 0 for e in extents):
        raise click.BadParameter(f"{text!r} is not of the form data=3x224x224")
    return name, tuple(map(int, extents))


def named_file(text: str) -> tuple[str, str]:
    """data=@x.npy"""
    name, _, path = text.partition("=@")
    if not name or not path:
        raise click.BadParameter(f"{text!r} is not of the form data=@x.npy")
    return name, path


def all_of(*decorators: Decorator) -> Decorator:
    """Several decorators as one; help shows their options in this order."""

    def decorate(command: Any) -> Any:
        for decorator in reversed(decorators):
            command = decorator(command)
        return command

    return decorate


PARAM = click.argument("param", type=click.Path(exists=True, dir_okay=False))
BIN = click.argument("bin", required=False, type=click.Path(exists=True, dir_okay=False))


@contextmanager
def progress(what: str) -> Iterator[None]:
    """A sign of life on a terminal, nothing elsewhere."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(what):
        yield
