"""Records and schema -> a module of ncnn ops."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from xdsl.dialects.builtin import ArrayAttr, StringAttr
from xdsl.dialects.func import FuncOp, ReturnOp

from ncc.compiler.diagnostics import ModelError, Unsupported
from ncc.compiler.read.default_path import default_bin_path
from ncc.compiler.read.read_network import ReadResult, read
from ncc.dialects.ncnn.detection.yolo import Yolov3DetectionOutputOp
from ncc.dialects.ncnn.elementwise.activation_layers import ClipOp
from ncc.dialects.ncnn.layer import LAYERS, Layer
from ncc.dialects.ncnn.network import Network
from ncc.dialects.ncnn.plumbing import DropoutOp, InputOp
from ncc.dialects.ncnn.pooling.pooling import PoolingOp

INPUT = "Input data 0 1 data 0=28 1=14 2=3"


def function(result: ReadResult) -> FuncOp:
    [found] = result.module.body.ops
    assert isinstance(found, FuncOp)
    return found


def returned(result: ReadResult) -> list[str]:
    """The names in the function's attribute."""
    names = function(result).attributes["outputs"]
    assert isinstance(names, ArrayAttr)
    return [name.data for name in names if isinstance(name, StringAttr)]


def failure(path: Path) -> list[str]:
    with pytest.raises(ModelError) as caught:
        read(path)
    return [f"{problem.line}: {problem.message}" for problem in caught.value.problems]


def test_a_layer_is_an_op(write: Callable[..., Path]) -> None:
    """Params are properties; names and line are attributes; blobs are values."""
    result = read(write(f"{INPUT}\nDropout drop 1 1 data out 0=0.5"))
    result.module.verify()
    data, drop, end = function(result).body.block.ops
    assert isinstance(data, InputOp) and isinstance(drop, DropoutOp)
    assert (data.w, data.h, data.c) == (28, 14, 3)
    assert drop.scale == 0.5
    assert (drop.layer_name, drop.blob_names, drop.line) == ("drop", ("out",), 4)
    assert drop.operands[0] is data.results[0]
    assert isinstance(end, ReturnOp) and list(end.operands) == [drop.results[0]]


def test_outputs_are_the_blobs_that_nobody_reads(write: Callable[..., Path]) -> None:
    """In the order in which they are made."""
    layers = f"{INPUT}\nSplit s 1 3 data a b c\nDropout d 1 1 b e"
    assert returned(read(write(layers))) == ["a", "c", "e"]


def test_any_blob_can_be_asked_for(write: Callable[..., Path]) -> None:
    """In the order asked for, each once."""
    path = write(f"{INPUT}\nSplit s 1 2 data a b\nDropout d 1 1 b e")
    assert returned(read(path, outputs=["e", "data", "e"])) == ["e", "data"]
    with pytest.raises(ModelError, match="blob 'dat'.*\n.*did you mean 'data'"):
        read(path, outputs=["dat"])


def test_a_blob_may_be_read_twice_without_a_split(write: Callable[..., Path]) -> None:
    """In SSA a fan-out needs no layer."""
    result = read(write(f"{INPUT}\nDropout d 1 1 data a\nDropout e 1 1 data b"))
    assert returned(result) == ["a", "b"]


def test_integers_fill_float_parameters(write: Callable[..., Path]) -> None:
    """`0=2` means 2.0, as in the newer ncnn."""
    result = read(write(f"{INPUT}\nDropout d 1 1 data a 0=2"))
    [drop] = [op for op in result.module.walk() if isinstance(op, DropoutOp)]
    assert drop.scale == 2.0


@pytest.mark.parametrize(
    ("spelled", "mask"),
    [
        ("-23305=3,1077936128,0,1073741824", (3.0, 0.0, 2.0)),
        ("-23305=3,3.0,0.0,2.0", (3.0, 0.0, 2.0)),
        ("-23305=3,3,0,2", (3.0, 0.0, 2.0)),
        ("-23305=3,1077936128,0,2", (1077936128.0, 0.0, 2.0)),
    ],
)
def test_integers_may_be_the_bits_of_floats(
    spelled: str, mask: tuple[float, ...], write: Callable[..., Path]
) -> None:
    """As in the masks of YOLO files; a small integer among them tells that they are not."""
    result = read(write(f"{INPUT}\nYolov3DetectionOutput y 1 1 data y {spelled}"))
    [found] = [op for op in result.module.walk() if isinstance(op, Yolov3DetectionOutputOp)]
    assert found.mask == mask


@pytest.mark.parametrize(
    ("param", "found"),
    [
        ("0=28.0", "the float 28.0"),
        ("0=w", "'w'"),
        ("0=1,", "the array 1"),
        ("-23300=0", "an empty array"),
    ],
)
def test_a_value_of_another_kind_is_an_error(
    write: Callable[..., Path], param: str, found: str
) -> None:
    """ncnn would take the default without a word."""
    with pytest.raises(ModelError) as caught:
        read(write(f"Input data 0 1 data {param}"))
    [problem] = caught.value.problems
    assert "'w'" in problem.message and problem.column == 21
    assert (problem.expected, problem.found) == ("an integer", found)


def test_an_unknown_parameter_is_ignored_with_a_warning(write: Callable[..., Path]) -> None:
    """As in ncnn, but not silently."""
    [warning, _] = read(write("Input data 0 1 data 29=1")).warnings
    assert "net.param:3: warning: Input 'data' has no parameter 29" in warning


def test_outputs_are_known_before_weights_are_there(write: Callable[..., Path]) -> None:
    """A wrong name is told first, unless the text is broken: then no name is known."""
    path = write(f"{INPUT}\nInnerProduct fc 1 1 data out 0=1 2=4")
    with pytest.raises(ModelError, match="no layer makes the blob 'ou'"):
        read(path, path.with_name("nowhere.bin"), outputs=["ou"])
    with pytest.raises(ModelError, match="the weights cannot be read"):
        read(path, path.with_name("nowhere.bin"), outputs=["out"])
    path = write(f"{INPUT}\nReLU r 1 1 data ou 0=")
    with pytest.raises(ModelError) as caught:
        read(path, outputs=["ou"])
    assert "no layer makes" not in str(caught.value)


def test_an_input_that_no_layer_reads_is_an_output_with_a_warning(
    write: Callable[..., Path],
) -> None:
    """As to ncnn, which says nothing; nobody is warned who names the outputs."""
    path = write("Input a 0 1 a 0=4\nInput b 0 1 b 0=4\nReLU r 1 1 a out")
    found = read(path)
    assert list(Network.of(found.module).outputs) == ["b", "out"]
    assert found.warnings == (
        f"{path}:4: warning: no layer reads the input 'b': it is an output, too",
    )
    assert not read(path, outputs=["b", "out"]).warnings


def test_ncnn_takes_it_for_an_output(write: Callable[..., Path]) -> None:
    """By its own list of them."""
    ncnn = pytest.importorskip("ncnn")
    net = ncnn.Net()
    path = write("Input a 0 1 a 0=4\nInput b 0 1 b 0=4\nReLU r 1 1 a out")
    assert net.load_param(str(path)) == 0
    assert (net.input_names(), net.output_names()) == (["a", "b"], ["b", "out"])


@pytest.mark.parametrize("word", ["inf", "Infinity", "NAN", "nan(0x1)"])
def test_what_is_no_finite_number_is_the_default_with_a_warning(
    write: Callable[..., Path], word: str
) -> None:
    """ncnn takes these words for text, and runs; of several values of a param the last counts."""
    found = read(write(f"{INPUT}\nClip c 1 1 data a 0=-1.5 1=6.0 1={word}"))
    [clip] = [op for op in Network.of(found.module).layers if isinstance(op, ClipOp)]
    assert (clip.min, clip.max) == (-1.5, ClipOp.LAYER.params["max"].default)
    [warning] = found.warnings
    assert f"net.param:4: warning: max of Clip 'c' is '{word}'" in warning
    assert warning.endswith("the default stands, 3.40282e+38")


def test_an_extent_without_end_follows_its_neighbour(write: Callable[..., Path]) -> None:
    """An integer that is no finite number is as one that is left out."""
    found = read(write(f"{INPUT}\nPooling p 1 1 data a 1=2 11=inf"))
    [pool] = [op for op in Network.of(found.module).layers if isinstance(op, PoolingOp)]
    assert (pool.kernel_w, pool.kernel_h) == (2, 2)
    assert found.warnings[0].endswith("the default stands, kernel_w")


@pytest.mark.parametrize("value", ["infi", "+inf", "-inf", "1e39", "0x2", "1.#INF"])
def test_what_is_no_number_at_all_is_an_error(write: Callable[..., Path], value: str) -> None:
    """Other words are mistakes; ncnn refuses all that begin as a number and are none."""
    with pytest.raises(ModelError):
        read(write(f"{INPUT}\nClip c 1 1 data a 0=-1.5 1={value}"))


def test_a_type_that_only_ncnn_has_is_unsupported(
    write: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file is not at fault."""
    monkeypatch.delitem(LAYERS, "Dropout")
    with pytest.raises(Unsupported, match="layer 'd' on line 4.*Dropout"):
        read(write(f"{INPUT}\nDropout d 1 1 data a"))


def test_wiring_problems_are_found_together(write: Callable[..., Path]) -> None:
    """Made twice, read before made, read by its maker, never made."""
    layers = f"""
        {INPUT}
        Dropout a 1 1 data x
        Dropout b 1 1 data x
        Dropout c 1 1 z y
        Dropout d 1 1 y z
        Dropout e 1 1 w w
        Dropout f 1 1 dada v
    """
    assert failure(write(layers)) == [
        "5: blob 'x' is made a second time; it was first on line 4",
        "6: blob 'z' is read before it is made on line 7: a cycle, or a wrong order",
        "8: Dropout 'e' reads the blob 'w', which it makes itself: a cycle",
        "9: no layer makes the blob 'dada'",
    ]


def test_parameter_problems_are_found_together(write: Callable[..., Path]) -> None:
    """Kinds, counts, and what the layer's own check refuses, with the place of the parameter."""
    layers = f"""
        {INPUT}
        Dropout a 1 1 data x 0=abc
        Dropout b 0 1 y
        MemoryData m 0 1 z 0=4 21=7
    """
    assert failure(write(layers)) == [
        "4: parameter 'scale' has a value of another kind, which ncnn would drop for the default",
        "5: Dropout 'b' has a wrong number of inputs",
        "6: MemoryData 'm': load_type is 7, neither 0 nor 1",
    ]
    with pytest.raises(ModelError) as caught:
        read(write("MemoryData m 0 1 z 0=4 21=7"))
    assert caught.value.problems[0].column == 24


@pytest.mark.parametrize(
    "hint",
    ["-23330=0", "-23330=4,3,8,8,2", "-23330=5,4,8,8,2,2", "30=3,8,8,2", "-23330=4,0,0,0,0"],
)
def test_shape_hints_are_advice(write: Callable[..., Path], hint: str) -> None:
    """Both forms are understood."""
    assert read(write(f"{INPUT}\nDropout d 1 1 data a {hint}")).warnings == ()


@pytest.mark.parametrize(
    "hint",
    [
        *("-23330=3,1,1,1", "-23330=6,1,1,1,1,1,1", "-23330=4,4,1,1,1", "-23330=4,1,-5,1,1"),
        *("-23330=4,1.,5.,1.,1.", "30=1", "30=abc"),
    ],
)
def test_a_broken_shape_hint_is_an_error(write: Callable[..., Path], hint: str) -> None:
    """As in the newer ncnn."""
    [message] = failure(write(f"{INPUT}\nDropout d 1 1 data a {hint}"))
    assert "hint" in message


def test_a_network_without_output_is_an_error(write: Callable[..., Path]) -> None:
    """Nothing could be computed."""
    assert "output" in failure(write(f"{INPUT}\nNoop n 1 0 data"))[0]


def test_files_that_cannot_be_read_are_errors(tmp_path: Path) -> None:
    """Missing, or a folder."""
    for path in (tmp_path / "net.param", tmp_path):
        with pytest.raises(ModelError, match="cannot be read"):
            read(path)


def test_the_bin_stands_beside_the_param() -> None:
    """Under the same name, for both forms of .param."""
    assert default_bin_path("a/net.param") == default_bin_path("a/net.param.bin") == "a/net.bin"
    assert default_bin_path("net.param") == "net.bin"


def test_every_op_verifies(write: Callable[..., Path]) -> None:
    """The module is whole."""
    path = write(f"{INPUT}\nSplit s 1 2 data a b\nMemoryData m 0 1 c 0=4\nNoop n 3 1 a b c d")
    module = read(path, random_weights=0).module
    module.verify()
    assert sum(isinstance(op, Layer) for op in module.walk()) == 4
