"""What became of a layer, and why a pass stays away, in words."""

from __future__ import annotations

from pathlib import Path

import pytest

from ncc.compiler.explain import fate_of_blob, fates, why_not
from ncc.compiler.optimizer import Optimized, optimize_network
from ncc.runtime.errors import InputError

LINES = """
Input data 0 1 data 0=8 1=8 2=3
Split split 1 2 data data_0 data_1
Convolution conv 1 1 data_0 conv 0=4 1=3 6=108
BatchNorm norm 1 1 conv norm 0=4 1=0.001
ReLU relu 1 1 norm relu
TanH tanh 1 1 relu tanh
Dropout drop 1 1 tanh drop 0=0.5
Convolution other 1 1 data_1 other 0=4 1=3 6=108 9=2 -23310=1,0.1
BatchNorm stays 1 1 other stays 0=4 1=0.001
"""


@pytest.fixture
def done(tmp_path: Path) -> Optimized:
    lines = LINES.strip().splitlines()
    path = tmp_path / "net.param"
    path.write_text("\n".join(["7767517", f"{len(lines)} 30", *lines, ""]))
    return optimize_network(path, "null")


def test_the_way_of_a_blob(done: Optimized) -> None:
    """From the layer that made it through every rewrite to what is there now."""
    assert list(fate_of_blob(done, "norm").lines()) == [
        "blob 'norm' was made by layer 'norm' (BatchNorm) on line 6",
        "  fuse_convolution_batchnorm conv norm (lines 5, 6): layer 'conv' stands for it",
        "  fuse_convolution_activation conv relu (lines 5, 7): layer 'conv' stands for it",
        "no blob has its name any more: layer 'conv' makes 'relu'",
    ]
    assert list(fate_of_blob(done, "other").lines()) == [
        "blob 'other' was made by layer 'other' (Convolution) on line 10",
        "it is still there: layer 'other' makes it",
    ]
    *_, last = fate_of_blob(done, "data_0").lines()
    assert last.startswith("no blob has its name any more")


def test_every_layer(done: Optimized) -> None:
    """A line each."""
    assert list(map(str, fates(done))) == [
        "line 3: Input data: as it was",
        "line 5: Convolution conv: in conv, by fuse_convolution_batchnorm, "
        "fuse_convolution_activation",
        "line 6: BatchNorm norm: in conv, by fuse_convolution_batchnorm, "
        "fuse_convolution_activation",
        "line 7: ReLU relu: in conv, by fuse_convolution_activation",
        "line 8: TanH tanh: as it was",
        "line 9: Dropout drop: as it was",
        "line 10: Convolution other: as it was",
        "line 11: BatchNorm stays: as it was",
    ]


def test_why_a_pass_did_not_fire(done: Optimized) -> None:
    """Where it fired, and the reason where it did not."""
    fired, refused = why_not(done, "fuse_convolution_batchnorm").lines()
    assert fired.startswith("fired: fuse_convolution_batchnorm conv norm (lines 5, 6)")
    assert refused.startswith("not at layer 'stays' on line 11: ")
    assert list(why_not(done, "eliminate_dropout").lines()) == [
        "not at layer 'drop' on line 9: its scale is 0.5, not 1"
    ]
    assert list(why_not(done, "eliminate_pooling1x1").lines()) == [
        "eliminate_pooling1x1: no layers of this network look like it"
    ]


def test_names_that_there_are_not(done: Optimized) -> None:
    """Told with what there is."""
    with pytest.raises(InputError, match="no blob 'nrom'.*did you mean 'norm'"):
        fate_of_blob(done, "nrom")
    with pytest.raises(InputError, match="did you mean 'eliminate_dropout'"):
        why_not(done, "eliminate_dropuot")
