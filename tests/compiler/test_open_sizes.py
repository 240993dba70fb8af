"""Networks whose inputs have open extents: the passes are right for every size."""

from __future__ import annotations

import re
from collections.abc import Mapping
from io import StringIO
from pathlib import Path
from random import Random

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.printer import Printer

from ncc.compiler.linalg.analysis.generics import network_of
from ncc.compiler.ncnn.canonicalize import canonicalize
from ncc.compiler.ncnn.infer_shapes import infer_shapes
from ncc.compiler.ncnn.optimize import optimize_module
from ncc.compiler.options import Options
from ncc.compiler.passes import linalg_passes
from ncc.compiler.pipeline import Compilation
from ncc.dialects.ncnn.network import Network
from ncc.dialects.size import Assumption, Size, assuming
from tests.structured.evaluate import evaluate
from tests.structured.given_sizes import with_extents

CLASSIFIER = """7767517
12 13
Input data 0 1 data
Convolution a 1 1 data a 0=24 1=3 3=2 4=1 5=1 6=648 9=1
Split s 1 2 a a1 a2
ConvolutionDepthWise b 1 1 a1 b 0=24 1=3 4=1 5=1 6=216 7=24 9=1
Pooling c 1 1 b c 0=0 4=1
Convolution d 1 1 c d 0=24 1=1 5=1 6=576 9=4
BinaryOp e 2 1 a2 d e 0=2
Convolution f 1 1 e f 0=32 1=3 4=1 5=1 6=6912 9=1
Pooling g 1 1 f g 0=0 1=3 2=2 3=1
Pooling h 1 1 g h 0=1 4=1
InnerProduct i 1 1 h i 0=10 1=1 2=320
Softmax j 1 1 i j 0=0
"""

PYRAMID = """7767517
10 11
Input data 0 1 data
Convolution a 1 1 data a 0=32 1=3 4=1 5=1 6=864 9=1
Split s 1 2 a a1 a2
Convolution b 1 1 a1 b 0=32 1=3 3=2 4=1 5=1 6=9216 9=1
Pooling c 1 1 b c 0=1 1=3 2=1 3=1 6=0
Convolution d 1 1 c d 0=32 1=1 5=1 6=1024 9=1
Interp e 1 1 d e 0=1 1=2.0 2=2.0
Concat f 2 1 a2 e f 0=0
Convolution g 1 1 f g 0=48 1=3 4=1 5=1 6=27648
PixelShuffle h 1 1 g h 0=4
"""

SAME = """7767517
5 5
Input data 0 1 data
Convolution a 1 1 data a 0=16 1=3 3=2 4=-233 5=1 6=432 9=1
Convolution b 1 1 a b 0=32 1=3 4=-233 5=1 6=4608 9=1
Pooling c 1 1 b c 0=1 1=2 2=2
Convolution d 1 1 c d 0=8 1=1 4=1 5=1 6=256 9=1
"""

PATCHES = """7767517
7 7
Input data 0 1 data
Convolution a 1 1 data a 0=8 1=4 3=4 5=1 6=384
Reshape b 1 1 a b 0=-1 1=8
Permute c 1 1 b c 0=1
InnerProduct d 1 1 c d 0=12 1=1 2=96
Permute e 1 1 d e 0=1
Reduction f 1 1 e f 0=3 1=0 -23303=1,1 5=1
"""

NETWORKS = {"classifier": CLASSIFIER, "pyramid": PYRAMID, "same": SAME, "patches": PATCHES}


def compiled(
    path: Path, shape: tuple[int, ...], level: int, target: str
) -> tuple[ModuleOp, list[Assumption], dict[str, str]]:
    """The module behind all passes, what they assume, and the text behind each of them."""
    options = Options.of(opt_level=level, target=target, num_threads=2, random_weights=1)
    compilation = Compilation(path, None, options)
    module, texts = compilation.source.clone(), dict[str, str]()
    with assuming() as assumed:
        infer_shapes(module, dict.fromkeys(Network.of(module).inputs, shape))
        if level:
            canonicalize(module, exact=level == 1)
        if level > 1:
            optimize_module(module)
        for one in linalg_passes(options):
            one.apply(compilation.context, module)
            module.verify()
            texts[one.name] = _text(module)
    return module, list(assumed), texts


def _text(module: ModuleOp) -> str:
    """The text of a module without hints."""
    out = StringIO()
    Printer(out, print_generic_format=True).print_op(module)
    return re.sub(r"@\d+", "", out.getvalue())


def _open(height: int, width: int) -> tuple[int, ...]:
    return 3, Size.symbol("h", height), Size.symbol("w", width)


def _meet(assumed: list[Assumption], at: Mapping[str, int]) -> bool:
    return all(one.holds(one.form.value(at)) for one in assumed)


@pytest.fixture(params=NETWORKS)
def network(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / f"{request.param}.param"
    path.write_text(NETWORKS[request.param])
    return path


LEVELS = [
    (0, "avx2"),
    *(pytest.param(2, one, marks=pytest.mark.slow) for one in ("avx512", "avx2")),
]


@pytest.mark.parametrize(("level", "target"), LEVELS)
def test_passes_compute_the_same_at_other_sizes(network: Path, level: int, target: str) -> None:
    """As the layers do, at every size that meets the assumptions; these are few, and most do."""
    module, assumed, _ = compiled(network, _open(48, 64), level, target)
    random, met = Random(level), 0
    assert len(assumed) < 12
    for _ in range(3):
        at = {"h": 2 * random.randint(3, 30), "w": 2 * random.randint(3, 30)}
        if not _meet(assumed, at):
            continue
        met += 1
        shape = (3, at["h"], at["w"])
        x = np.random.default_rng(met).standard_normal(shape, np.float32)
        plain, _, _ = compiled(network, shape, 0, target)
        (wanted,) = evaluate(network_of(plain), [x])
        (found,) = evaluate(network_of(with_extents(module, at)), [x])
        assert found.shape == wanted.shape
        np.testing.assert_allclose(found, wanted, rtol=2e-4, atol=2e-5 * np.abs(wanted).max())
    assert met >= 2


@pytest.mark.parametrize(
    "network",
    [
        "patches",
        *(pytest.param(one, marks=pytest.mark.slow) for one in NETWORKS if one != "patches"),
    ],
    indirect=True,
)
def test_passes_leave_out_no_size(network: Path) -> None:
    """Code is for all images that the layers take: also for one row of patches."""
    _, assumed, _ = compiled(network, _open(224, 256), 2, "avx512")
    module = Compilation(network, None, Options.of(random_weights=1)).source.clone()
    with assuming() as by_layers:
        infer_shapes(module, dict.fromkeys(Network.of(module).inputs, _open(224, 256)))
    assert [str(one) for one in assumed] == [str(one) for one in by_layers]


def test_sums_of_open_images_are_on_matrix_tiles(tmp_path: Path) -> None:
    """At -O3, as those of images of one size are."""
    path, texts = tmp_path / "net.param", []
    path.write_text(PYRAMID)
    for shape in ((3, 64, 64), (3, None, None)):
        given = {"data": shape}
        options = Options.of(opt_level=3, target="amx", random_weights=1, input_shapes=given)
        compilation = Compilation(path, None, options)
        texts.append(_text(compilation.structured(compilation.network())))
    counts = [text.count("bf16") for text in texts]
    assert counts[0] > 0 and counts[1] > 0


@pytest.mark.slow
def test_sizes_are_lost_nowhere(network: Path) -> None:
    """Hints that lead to the same decisions, as those of as many of Winograd's tiles do, make the
    same modules, but for the hints.
    """
    _, assumed, texts = compiled(network, _open(224, 256), 2, "avx512")
    _, same, others = compiled(network, _open(222, 254), 2, "avx512")
    assert [str(one) for one in assumed] == [str(one) for one in same]
    for name, text in texts.items():
        assert text == others[name], f"after {name}"
        assert not re.search(r"\[[^\]#]*\b[hw]\b[^\]#]*\] : ", text), f"after {name}"
