"""Compiles one network with any schedules for its kernels."""

from __future__ import annotations

import os
from collections.abc import Mapping

from ncc.compiler.driver.assemble import artifact_of, open_inputs
from ncc.compiler.driver.cache import cache_of
from ncc.compiler.driver.open_binding import require_shapes
from ncc.compiler.options import Options
from ncc.compiler.pipeline import Compilation
from ncc.runtime.memory_files import FileLike
from ncc.runtime.session import Model


class Schedulings:
    """One network with any schedules for its kernels. Work that all of them share is done once.

    Raises InputError if a shape is open.
    """

    def __init__(self, param: FileLike, bin: FileLike | None, options: Options) -> None:
        self._compilation = Compilation(param, bin, options, one_by_one=True)
        require_shapes(open_inputs(self._compilation))
        self._cache = cache_of(os.environ)
        self.steps = self._compilation.loops(*self._compilation.planned).steps

    def model(self, schedules: Mapping[str, str]) -> Model:
        """The network with these schedules, by kernel signature; other kernels have the cost
        model's.
        """
        self._compilation.schedules = schedules
        return Model(artifact_of(self._compilation, self._cache))
