"""What stands beside a library: a header for C++, a configuration of CMake, and JSON about it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from string import Template
from typing import Any

from ncc.compiler.library.signature import Argument, Signature

_CPP = """/* $net.h for C++. */
#ifndef ${NET}_HPP
#define ${NET}_HPP

#include <array>
#include <memory>
#include <stdexcept>

#include "$net.h"

namespace ncc {

struct ${net}_end {
  void operator()(::$net *net) const { ${net}_destroy(net); }
};

/* A network that ends itself; ${net}_run(net.get(), ...) runs it. */
using $net = std::unique_ptr<::$net, ${net}_end>;

/* Compiled without exceptions, it returns nullptr where it would throw. */
inline $net make_$net(int threads = 1, const void *weights = nullptr) {
  $net made(${net}_create(weights, threads));
#ifdef __cpp_exceptions
  if (!made) throw std::runtime_error("$net cannot be created");
#endif
  return made;
}

$buffers
}  // namespace ncc
#endif
"""

_CMAKE_TARGET = """if(NOT TARGET ncc::$target)
  add_library(ncc::$target $kind IMPORTED)
  set_target_properties(ncc::$target PROPERTIES
    IMPORTED_LOCATION "$${CMAKE_CURRENT_LIST_DIR}/$file"
    INTERFACE_INCLUDE_DIRECTORIES "$${CMAKE_CURRENT_LIST_DIR}"
    INTERFACE_LINK_LIBRARIES Threads::Threads)
endif()
"""


def cpp_header(signature: Signature) -> str:
    """The header for C++."""
    return Template(_CPP).substitute(
        net=signature.name, NET=signature.upper, buffers="\n".join(_buffers(signature))
    )


def _buffers(signature: Signature) -> Iterator[str]:
    """The types of arrays for inputs and outputs whose size is known."""
    for one in (*signature.inputs, *signature.outputs):
        if not (one.binding.dynamic or one.binding.is_open):
            elements = f"{signature.upper}_{one.name.upper()}_ELEMENTS"
            yield f"using {signature.name}_{one.name} = std::array<{one.type}, {elements}>;"


def cmake_config(name: str) -> str:
    """The configuration that find_package reads."""
    targets = ((name, "STATIC", f"lib{name}.a"), (f"{name}_shared", "SHARED", f"lib{name}.so"))
    return (
        f"# find_package({name} CONFIG) defines ncc::{name}, and ncc::{name}_shared.\n"
        "include(CMakeFindDependencyMacro)\n"
        "set(THREADS_PREFER_PTHREAD_FLAG ON)\n"
        "find_dependency(Threads)\n"
    ) + "".join(
        Template(_CMAKE_TARGET).substitute(target=target, kind=kind, file=file)
        for target, kind, file in targets
    )


def info(signature: Signature, suffix: str, version: str) -> Mapping[str, Any]:
    """What programs may ask about the library."""
    artifact = signature.artifact
    return {
        "name": signature.name,
        "suffix": suffix,
        "ncc": version,
        "model": artifact.info.get("model", ""),
        "target": artifact.target,
        "features": sorted(artifact.features),
        "threads": artifact.threads,
        "inputs": [_told(one) for one in signature.inputs],
        "sizes": [one.name for one in signature.open_extents],
        "outputs": [_told(one) for one in signature.outputs],
    }


def info_text(signature: Signature, suffix: str, version: str) -> bytes:
    """The same as JSON."""
    return json.dumps(info(signature, suffix, version), sort_keys=True).encode()


def _told(one: Argument) -> Mapping[str, Any]:
    """An input or output. shape: the most rows of a dynamic output, and -1 for an open extent."""
    binding = one.binding
    told: dict[str, Any] = {
        "blob": binding.name,
        "argument": one.name,
        "type": binding.dtype,
        "shape": binding.shape,
    }
    if binding.dynamic:
        told["dynamic"] = True
    return told
