"""The arrays that are fed to a model of open shapes, and what is wrong with them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import prod
from typing import TypeAlias

import numpy as np

from ncc.compiler.diagnostics import ModelError
from ncc.compiler.driver.open_binding import OpenBinding
from ncc.dialects.shapes import DYNAMIC, shown
from ncc.runtime.errors import InputError
from ncc.runtime.forms import other_forms
from ncc.runtime.results import Array
from ncc.runtime.session import ArrayLike, as_array, misfit

Arrays: TypeAlias = Mapping[str, Array]


def fed(feeds: Mapping[str, ArrayLike], binding: OpenBinding) -> Array:
    """The array for an input, where dtype and shape may be fed.

    A cache that is not fed is empty, and so is an array without elements, whatever its shape.
    """
    array = as_array(feeds[binding.name], binding) if binding.name in feeds else None
    begun = [0 if extent == DYNAMIC else extent for extent in binding.shape or (DYNAMIC,)]
    if binding.is_cache and 0 in begun:
        if array is None:
            array = np.empty(begun, binding.dtype)
        elif not array.size and not binding.admits(array.shape):
            array = array.reshape(begun)
    if array is None or array.dtype != binding.dtype or not binding.admits(array.shape):
        raise misfit(binding, array)
    return array


def misfed(error: ModelError, arrays: Arrays, bindings: Iterable[OpenBinding]) -> InputError | None:
    """The error about an array of which another form would be taken. Where that would be another
    array altogether, the layers say what they want.
    """
    by_name = {binding.name: binding for binding in bindings}
    for found in (problem.misfed for problem in error.problems):
        if found is not None and found.blob in by_name:
            array, form = arrays[found.blob], found.form
            if prod(form.shape) == array.size or form in other_forms(array.shape):
                return misfit(by_name[found.blob], array, form)
    return None


def not_taken(error: ModelError, arrays: Arrays, bindings: Iterable[OpenBinding]) -> InputError:
    """The error about arrays whose shapes, or values, the layers do not take, and their words."""
    told = " and ".join(
        f"{b.name!r} of {shown(arrays[b.name].shape)}"
        for b in bindings
        if b.is_open or b.settles or b.implied
    )
    return InputError(f"the layers do not take input {told}\n{error}")
