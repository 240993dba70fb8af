"""Which LLVM it is, told without loading it."""

from __future__ import annotations


def llvmlite_version() -> str:
    """The version of llvmlite, and so of the LLVM inside it."""
    from llvmlite import __version__

    return str(__version__)
