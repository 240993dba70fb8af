"""What stands beside a library: for C++, for CMake, and for programs that ask."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from ncc.compiler.library.beside import info
from ncc.compiler.library.signature import Signature
from tests.c_programs import CXX, WARNINGS, Library, Loaded, done, needs_cc, run
from tests.compiler.library.small_networks import compiled

CPP = """
#include "net.hpp"
int main() {
  static ncc::net_data data{};
  ncc::net_prob prob;
  ncc::net made = ncc::make_net(2);
  try {
    ncc::make_net(3);
    return 1;
  } catch (const std::runtime_error &) {
  }
  return net_run(made.get(), data.data(), prob.data());
}
"""

WITHOUT_EXCEPTIONS = """
#include "net.hpp"
int main() {
  static ncc::net_data data{};
  ncc::net_prob prob;
  ncc::net made = ncc::make_net(2);
  return ncc::make_net(3) ? 1 : net_run(made.get(), data.data(), prob.data());
}
"""

CMAKE = """
cmake_minimum_required(VERSION 3.16)
project(program C)
find_package(net CONFIG REQUIRED)
add_executable(with_static main.c)
target_link_libraries(with_static ncc::net)
add_executable(with_shared main.c)
target_link_libraries(with_shared ncc::net_shared)
"""

MAIN = """
#include "net.h"
static float data[NET_DATA_ELEMENTS], prob[NET_PROB_ELEMENTS];
int main(void) {
  net *made = net_create(NULL, 2);
  int error = made ? net_run(made, data, prob) : 1;
  net_destroy(made);
  return error;
}
"""


@pytest.mark.skipif(CXX is None, reason="there is no C++ compiler (c++)")
@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "option"), [(CPP, "-fexceptions"), (WITHOUT_EXCEPTIONS, "-fno-exceptions")]
)
def test_a_program_in_cpp(library: Library, tmp_path: Path, text: str, option: str) -> None:
    """Networks end by themselves. What cannot be made is an exception, or nothing without them."""
    source, main = tmp_path / "main.cc", tmp_path / "main"
    source.write_text(text)
    given = [*WARNINGS, option, f"-I{library.folder}", source, library.folder / "libnet.a"]
    done([CXX, *given, "-pthread", "-o", main])
    assert run([main]).returncode == 0


@needs_cc
@pytest.mark.skipif(shutil.which("cmake") is None, reason="there is no cmake")
@pytest.mark.slow
def test_cmake_finds_it(library: Library, tmp_path: Path) -> None:
    """In a fresh folder, by the folder of the library alone; static and shared."""
    (tmp_path / "CMakeLists.txt").write_text(CMAKE)
    (tmp_path / "main.c").write_text(MAIN)
    environment = {k: v for k, v in os.environ.items() if not k.startswith("CMAKE")}
    prefix = f"-DCMAKE_PREFIX_PATH={library.folder}"
    done(["cmake", "-S", tmp_path, "-B", tmp_path / "build", prefix], env=environment)
    done(["cmake", "--build", tmp_path / "build"], env=environment)
    for name in ("with_static", "with_shared"):
        assert run([tmp_path / "build" / name]).returncode == 0


def test_what_a_library_tells_of_itself(library: Library) -> None:
    """Names, types and shapes, and the names of functions in the shared object."""
    loaded = Loaded(library.folder)
    assert loaded.info == dict(info(library.signature, loaded.info["suffix"], "0.0")) | {
        "inputs": [{"blob": "data", "argument": "data", "type": "float32", "shape": [3, 20, 20]}],
        "outputs": [{"blob": "prob", "argument": "prob", "type": "float32", "shape": [10]}],
    }
    assert loaded.info["name"] == "net" and loaded.info["threads"] == 2
    assert f"net_run{loaded.info['suffix']}" in (library.folder / "net.h").read_text()


def test_it_tells_what_is_open_and_what_is_found() -> None:
    """The shape has -1 for open extents, or the most rows."""
    caches = info(Signature("net", compiled("caches").artifact), "", "")
    shapes = {one["blob"]: list(one["shape"]) for one in caches["inputs"]}
    assert shapes["in1"] == [3, -1] and shapes["cache_v1"] == [4, -1, 16]
    assert caches["sizes"] == ["in1_w", "cache_k0_h"]
    artifact = compiled("rows").artifact
    (rows,) = info(Signature("net", artifact), "", "")["outputs"]
    assert rows["dynamic"] and rows["shape"] == artifact.outputs[0].shape
