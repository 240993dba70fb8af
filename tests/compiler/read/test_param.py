"""The text form of .param."""

from __future__ import annotations

from pathlib import Path

import pytest

from ncc.compiler.diagnostics import ModelError
from ncc.compiler.read.param import read_text
from ncc.compiler.read.records import Graph, Location, RawValue, Spelling

MODELS = Path(__file__).parents[4] / "shared" / "models"

HEAD = "7767517\n2 2\nInput data 0 1 data\n"


def parse(text: str) -> Graph:
    graph = read_text("net.param", text.encode())
    if graph.problems:
        raise ModelError(graph.problems)
    return graph


def value(text: str) -> RawValue:
    """The value of parameter 0 of a layer that ends with `text`."""
    return parse(f"{HEAD}ReLU relu 1 1 data out {text}\n").layers[1].params[0]


def problems(text: str) -> list[str]:
    with pytest.raises(ModelError) as caught:
        parse(text)
    return [problem.message for problem in caught.value.problems]


def test_a_layer_keeps_its_names_and_their_places() -> None:
    """Type, name and blobs know line and column, counted from 1."""
    graph = parse(HEAD + "Eltwise  sum 2 1 data data  out 0=1\n")
    record = graph.layers[1]
    assert (record.type.text, record.name.text) == ("Eltwise", "sum")
    assert [blob.text for blob in record.inputs] == ["data", "data"]
    assert [blob.text for blob in record.outputs] == ["out"]
    assert record.outputs[0].place == Location(4, 29, 3)
    assert record.position == Location(4, 1, 7)


@pytest.mark.parametrize(
    "text",
    [
        "7767517\r\n2 2\r\nInput data 0 1 data 0=1\r\nReLU relu 1 1 data out 0=2\r\n",
        "\n\n 7767517\t2 2\nInput data 0 1 data 0=1\n\n\nReLU relu 1 1 data out 0=2",
        "7767517 2 2 Input data 0 1 data 0=1\nReLU\nrelu 1\n1\tdata\n\nout 0=2\n",
        "7767517\r2 2\rInput data 0 1 data 0=1\rReLU relu 1 1 data out 0=2\r",
    ],
    ids=["crlf", "blank lines", "broken over lines", "cr"],
)
def test_line_ends_are_white_space(text: str) -> None:
    """Up to its last blob a layer may be broken over lines, which end in any of three ways."""
    graph = parse(text)
    assert [record.type.text for record in graph.layers] == ["Input", "ReLU"]
    assert graph.layers[1].params[0].values == (2,)


def test_parameters_end_with_the_line() -> None:
    """A second layer on a line is an error, as in the newer ncnn."""
    [message] = problems("7767517\n2 2\nInput data 0 1 data 0=1 ReLU relu 1 1 data out\n")
    assert "one layer a line" in message


def test_what_follows_the_declared_layers_is_ignored_with_a_warning() -> None:
    """nanodet_m of ncnn's benchmark declares one layer fewer than it has."""
    graph = parse(HEAD + "ReLU relu 1 1 data out\nNoop noop 1 0 out\n")
    assert len(graph.layers) == 2
    assert graph.warnings == (
        "net.param:5: warning: the file declares 2 layers; what follows the last of them is "
        "ignored",
    )


@pytest.mark.parametrize(
    ("text", "spelling", "values", "is_array"),
    [
        ("0=1", Spelling.INT, (1,), False),
        ("0=-5", Spelling.INT, (-5,), False),
        ("+0=+3", Spelling.INT, (3,), False),
        ("0=2147483647", Spelling.INT, (2147483647,), False),
        ("0=1.", Spelling.FLOAT, (1.0,), False),
        ("0=-.5e+1", Spelling.FLOAT, (-5.0,), False),
        ("0=1.e1", Spelling.FLOAT, (10.0,), False),
        ("0=1E-3", Spelling.FLOAT, (0.001,), False),
        ("0=0.12345678901234567", Spelling.FLOAT, (0.12345678901234567,), False),
        ("0=12345678901234567890.5", Spelling.FLOAT, (12345678901234567890.5,), False),
        ("0=4,", Spelling.INT, (4,), True),
        ("0=1,-2,3", Spelling.INT, (1, -2, 3), True),
        ("0=1.5,2", Spelling.FLOAT, (1.5, 2.0), True),
        ("-23300=0", Spelling.INT, (), True),
        ("-23300=2,7,8", Spelling.INT, (7, 8), True),
        ("-23300=2,1e1,-0.5", Spelling.FLOAT, (10.0, -0.5), True),
        ('0="+(0w, 1),2"', Spelling.STRING, ("+(0w, 1),2",), False),
        ('0=""', Spelling.STRING, ("",), False),
        ("0=sum,b", Spelling.STRING, ("sum,b",), False),
        ("0=inf", Spelling.STRING, ("inf",), False),
        ("0=1 0=2", Spelling.INT, (2,), False),
    ],
)
def test_a_value_keeps_its_spelling(
    text: str, spelling: Spelling, values: tuple[object, ...], is_array: bool
) -> None:
    """`1` and `1.` differ until the schema is asked; of a repeated id the last counts."""
    raw = value(text)
    assert (raw.spelling, raw.values, raw.is_array) == (spelling, values, is_array)
    assert [type(v) for v in raw.values] == [type(v) for v in values]


@pytest.mark.parametrize(
    "text",
    [
        *("0=", "0= 1", "0 =1", "0=0x2", "0=1-2", "0=1.5.5", "0=1e", "0=.", "0=-", "0=-inf"),
        *("0=,1", "0=1,,2", "0=1, 2", "0=1,2.5", "0=1,a", "0=1;", "0=_a", "0='a b'"),
        *("0=2147483648", "0=-2147483649", "0=1e39", "0=1e400", "0=" + "1" * 10_000),
        *('0="a b', '0="a"b', '0="a",2', '0=a"b c"', '0="a\n 1=2', f'0="{"x" * 256}"'),
        *("-23300=2,1", "-23300=1,1,2", "-23300=0,", "-23300=-1", "-23300=1 ,2", "-23300=2.0,1,2"),
        *("-23300=2000000000", "-23300=2,1,a", "-23300=2,1.5,2", "-23332=1,1"),
        *("32=1", "-1=1", "99999999999=1", "0=1 junk", "0=1 1"),
    ],
)
def test_a_broken_value_is_an_error_on_its_line(text: str) -> None:
    """Whatever ncnn refuses is refused, and mixed arrays, of which ncnn mixes up the bits."""
    with pytest.raises(ModelError) as caught:
        value(text)
    assert {problem.line for problem in caught.value.problems} <= {4, 5}
    assert caught.value.problems[0].line == 4
    assert caught.value.problems[0].column is not None


def test_problems_of_several_layers_are_reported_together() -> None:
    """After a problem, reading goes on at the next line; counts are not checked then."""
    assert problems(
        "7767517\n4 3\nInput data 0 1 data 0=;\n#ReLU\nReLU r 1 1 data a 0=1e\nReLU s 1 1 a\n"
    ) == [
        "the value is not a number",
        "a .param file has no comments",
        "the value is not a number",
        "the file ends too early",
    ]


def test_a_line_that_ends_too_early_costs_no_other() -> None:
    """The next line, into which the broken layer ran, is read again."""
    assert problems("7767517\n3 3\nInput data 0 1 data\nReLU r 1\nReLU s 1 1 data b 0=.\n") == [
        "'ReLU' is no such number",
        "the value is not a number",
    ]


def test_a_count_cannot_exceed_what_the_file_holds() -> None:
    """A huge number costs neither time nor memory."""
    assert "no possible number" in problems(HEAD + "ReLU r 2000000000 1 data out")[0]
    assert "no possible number" in problems(HEAD + "ReLU r 1 -1 data out")[0]
    assert problems("7767517\n2000000000 2\nInput data 0 1 data\n") == [
        "the file declares 2000000000 layers but holds 1"
    ]


def test_reading_stops_after_many_problems() -> None:
    """A file that is something else does not give a thousand messages."""
    assert len(problems("7767517\n1000 2\n" + "# text\n" * 1000)) == 20


@pytest.mark.parametrize("data", [b"", b" \n\n", b"\xff\xfe\x00", b"\x00" * 100, b"7767517a 1 1"])
def test_another_file_is_an_error(data: bytes) -> None:
    """Empty, not text, or without the magic number."""
    with pytest.raises(ModelError):
        read_text("net.param", data)


def test_names_have_a_limit() -> None:
    """255 bytes are a name, 256 are not."""
    parse(HEAD + f"ReLU {'r' * 255} 1 1 data {'b' * 255}")
    assert "longer than 255" in problems(HEAD + f"ReLU {'r' * 256} 1 1 data out")[0]
    assert "longer than 255" in problems(HEAD + f"ReLU r 1 1 data {'ü' * 128}")[0]


def test_the_caret_stands_under_the_word_at_fault() -> None:
    """A problem quotes its line."""
    with pytest.raises(ModelError) as caught:
        parse(HEAD + "ReLU relu 1 1 data out 0=0x2\n")
    assert str(caught.value).splitlines()[:3] == [
        "net.param:4:24: error: the value is not a number",
        "  ReLU relu 1 1 data out 0=0x2",
        "                         ^^^^^",
    ]


@pytest.mark.skipif(not MODELS.is_dir(), reason="there is no ../shared/models beside the checkout")
def test_the_benchmark_models_parse() -> None:
    """Each declares as many layers as it has lines."""
    paths = sorted(MODELS.rglob("*.param"))
    assert paths
    for path in paths:
        data = path.read_bytes()
        assert len(read_text(path, data).layers) == len(data.splitlines()) - 2, path
