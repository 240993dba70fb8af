"""Progress goes to whoever listens, and to nobody else."""

from __future__ import annotations

from ncc.compiler.progress import counted, listening, tell


def test_nobody_listens() -> None:
    """The work goes on as ever."""
    tell("compiling")
    assert list(counted("measuring", "ab", 2)) == ["a", "b"]


def test_a_listener_hears_what_is_done_in_its_block() -> None:
    """Of parts, also how many are done."""
    heard: list[tuple[str, int, int | None]] = []
    with listening(lambda *told: heard.append(told)):
        tell("compiling")
        for _ in counted("measuring", "ab", 2):
            pass
    tell("later")
    assert heard == [
        ("compiling", 0, None),
        ("measuring", 0, 2),
        ("measuring", 1, 2),
        ("measuring", 2, 2),
    ]


def test_the_listener_inside_hears_alone() -> None:
    """The one outside hears again afterwards."""
    outer: list[str] = []
    inner: list[str] = []
    with listening(lambda what, *_: outer.append(what)):
        with listening(lambda what, *_: inner.append(what)):
            tell("a")
        tell("b")
    assert (inner, outer) == (["a"], ["b"])
