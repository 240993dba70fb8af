"""How code of a library calls the C library: by addresses, which a linker or the loader fills in.

A direct call needs a stub in a shared object, and every kind of processor has stubs of its own.
"""

from __future__ import annotations

from collections.abc import Mapping


def pointers_text(functions: Mapping[str, tuple[str, str]]) -> str:
    """LLVM text with a pointer `@c.<name>` to each function, of a result and arguments by type."""
    return "".join(
        f"declare {result} @{name}({arguments})\n@c.{name} = internal constant ptr @{name}\n"
        for name, (result, arguments) in functions.items()
    )
