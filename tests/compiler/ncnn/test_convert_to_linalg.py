"""The linalg level of a network is a function of its inputs that computes its outputs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.parser import Parser
from xdsl.universe import Universe

from ncc.compiler.diagnostics import CompilerBug
from ncc.compiler.ncnn.convert_to_linalg import ConvertNcnnToLinalg
from ncc.compiler.ncnn.infer_shapes import infer_shapes
from ncc.compiler.read.read_network import read
from ncc.compiler.verification.interpret import interpret
from ncc.dialects.ncnn.layer import DYNAMIC, Layer, Shape, shape_of
from ncc.dialects.ncnn.network import Network
from ncc.dialects.ncnn.plumbing import DropoutOp
from tests.crossed import some
from tests.structured.evaluate import evaluate

MODELS = Path(__file__).parents[4] / "shared" / "models"

TEXT = """
builtin.module {
  func.func @network() -> (tensor<*xf32>, tensor<*xf32>) attributes {outputs = ["y", "b"]} {
    %a = ncnn.Input() {w = 6 : i32, layer = "in", blobs = ["a"]} : () -> tensor<*xf32>
    %b = ncnn.Input() {w = 4 : i32, h = 2 : i32, layer = "in2", blobs = ["b"]} : () -> tensor<*xf32>
    %s, %t = ncnn.Split(%a) {layer = "split", blobs = ["s", "t"]}
      : (tensor<*xf32>) -> (tensor<*xf32>, tensor<*xf32>)
    %d = ncnn.Dropout(%t) {scale = 5.000000e-01 : f32, layer = "half", blobs = ["d"]}
      : (tensor<*xf32>) -> tensor<*xf32>
    %y = ncnn.BinaryOp(%s, %d) {layer = "sum", blobs = ["y"]}
      : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
    func.return %y, %b : tensor<*xf32>, tensor<*xf32>
  }
}
"""


def parse(text: str) -> ModuleOp:
    context = Context()
    for name, factory in Universe.get_multiverse().all_dialects.items():
        context.register_dialect(name, factory)
    return Parser(context, text).parse_module()


def expanded(module: ModuleOp) -> FuncOp:
    ConvertNcnnToLinalg().apply(Context(), module)
    module.verify()
    (function,) = module.ops
    assert isinstance(function, FuncOp)
    return function


def test_inputs_become_arguments() -> None:
    """Arguments and results are the inputs and outputs, and attributes keep their names."""
    module = parse(TEXT)
    infer_shapes(module)
    function = expanded(module)
    assert [shape_of(arg) for arg in function.body.block.args] == [(6,), (2, 4)]
    assert function.attributes["inputs"] == ArrayAttr([StringAttr("a"), StringAttr("b")])
    assert function.attributes["outputs"] == ArrayAttr([StringAttr("y"), StringAttr("b")])
    a, b = np.arange(6, dtype=np.float32), np.ones((2, 4), np.float32)
    y, same = evaluate(function, [a, b])
    np.testing.assert_array_equal(y, a * 1.5)
    np.testing.assert_array_equal(same, b)


def test_operations_carry_the_layers_name() -> None:
    """Layers that hand on vanish; the others leave their name in `doc`."""
    module = parse(TEXT)
    infer_shapes(module)
    function = expanded(module)
    assert not any(isinstance(op, Layer) for op in function.walk())
    docs = [op.doc.data for op in function.walk() if isinstance(op, GenericOp) and op.doc]
    assert docs == ["half", "sum"]


def test_what_no_output_needs_is_not_expanded() -> None:
    """A layer behind the outputs leaves nothing; its input stays an argument."""
    module = parse(TEXT.replace("func.return %y, %b", "func.return %d, %d"))
    infer_shapes(module)
    function = expanded(module)
    assert len(function.body.block.args) == 2
    docs = [op.doc.data for op in function.walk() if isinstance(op, GenericOp) and op.doc]
    assert docs == ["half"]


def test_the_text_parses_back() -> None:
    """What is printed is what is parsed, for the ncnn level and the structured one."""
    module = parse(TEXT)
    infer_shapes(module)
    assert str(parse(str(module))) == str(module)
    expanded(module)
    assert str(parse(str(module))) == str(module)


def test_shapes_are_needed() -> None:
    """Without shapes there is nothing to expand to."""
    with pytest.raises(CompilerBug, match="shapes are not inferred"):
        expanded(parse(TEXT))


def test_a_layer_keeps_its_inferred_shape(monkeypatch: pytest.MonkeyPatch) -> None:
    """An expansion of another shape than the rule says is caught at the layer."""

    def wrong(self: DropoutOp, x: Shape) -> Shape:
        return (*x, 1)

    monkeypatch.setattr(DropoutOp, "infer", wrong)
    module = parse(TEXT.replace("func.return %y", "func.return %d"))
    infer_shapes(module)
    with pytest.raises(CompilerBug, match="'half' \\(Dropout\\) expands to"):
        expanded(module)


def test_rows_that_the_run_counts_get_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the shape rule leaves an extent open, the expansion says the most there can be."""
    monkeypatch.setattr(DropoutOp, "infer", lambda self, x: (DYNAMIC, *x[1:]))
    module = parse(TEXT.replace("ncnn.BinaryOp(%s, %d)", "ncnn.BinaryOp(%s, %s)"))
    network = Network.of(module)
    network.terminator.operands[1] = network.layers[3].results[0]
    infer_shapes(module)
    assert "tensor<?xf32>" in str(module)
    function = expanded(module)
    assert [shape_of(value) for value in Network(function).terminator.operands] == [(6,), (6,)]


@pytest.mark.parametrize("name", some(["squeezenet_v1.1", "mobilenet_v2", "resnet18"], usual=1))
def test_networks_expand_to_what_their_references_compute(name: str) -> None:
    """A whole network with random weights: references against the evaluated expansion."""
    path = MODELS / f"{name}.param"
    if not path.exists():
        pytest.skip("there is no ../shared/models beside the checkout")
    module = read(path, random_weights=1).module
    infer_shapes(module)
    generator = np.random.default_rng(0)
    arrays = {
        blob: np.asarray(generator.standard_normal(shape_of(value), np.float32))
        for blob, value in Network.of(module).inputs.items()
    }
    expected = interpret(module, arrays)
    found = evaluate(expanded(module), list(arrays.values()))
    for array, wanted in zip(found, expected.values(), strict=True):
        assert np.abs(array - wanted).max() <= 1e-5 * np.abs(wanted).max()
