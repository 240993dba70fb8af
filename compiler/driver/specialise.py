"""A model with open shapes: compiles at the first call, and runs at all later sizes.

    model = ncc.compile("net.param", input_shapes={"data": (3, None, None)})
    model(x)                                      # compiles, and compares costs for the shape of x
    model(y)                                      # runs at once, whatever the size of y
    model.compiled({"data": (3, 224, 224)})       # the model for one shape alone

The code of the first call is right for all shapes that meet what the compiler assumed: that an
image is larger than a window, say. For other shapes another *version* is compiled in the same way,
and kept.

Some networks cannot be compiled for all shapes: `reason` says why. Then each shape is a compilation
of its own, as is an odd shape that the code of no version is right for. If the values of an input
decide shapes (the box of a Crop), each new array is one.

ncc reads the files once, when the model is made. Most kernels of a compilation may come from the
cache, which also keeps versions.

The model with open shapes is a `Model` whose `run` first finds, or compiles, the model for the
shapes at hand. The runtime cannot compile.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np

from ncc.compiler.diagnostics import ModelError, Unsupported
from ncc.compiler.driver.open_binding import OpenBinding, require_shapes
from ncc.compiler.driver.open_candidates import candidates, is_one_sample, larger_hints
from ncc.compiler.driver.open_feeds import Arrays, fed, misfed, not_taken
from ncc.compiler.ncnn.open_shapes import require_ranks
from ncc.compiler.options import shapes_by_name
from ncc.dialects.shapes import OpenShape, Shape, shown
from ncc.runtime import cpu
from ncc.runtime.artifact import Artifact, as_bytes
from ncc.runtime.errors import InputError, NccError
from ncc.runtime.extents import OPEN
from ncc.runtime.paths import PathLike
from ncc.runtime.results import Array
from ncc.runtime.session import ArrayLike, Model

Shapes: TypeAlias = Mapping[str, Shape]
Key: TypeAlias = tuple[Shape | bytes, ...]

MOST_KEPT = 8
"""The number of sets of shapes that a model keeps code for; the least recently used goes first."""

MOST_ODD = 8
"""Shapes that no version is right for, before a network counts as one for which none can be."""

USUAL_RANKS = 3, 2, 1, 4
"""The numbers of axes that an input may have if the file tells none, the likeliest first."""

NOTHING: Shapes = MappingProxyType({})

EMPTY: Shape = (0,)
"""The shape of a cache without rows, whatever its heads and features."""

_COMPARED_AT_ONCE = 1 << 20


class OpenModel(Model):
    """A `Model` that is compiled when it is called.

    It can be called from several threads: calls that no version is for compile one after the other,
    all others do not wait. `inputs` show what is known of the shapes, with -1 for an open extent.

    compile: gives the artifact for shapes of all inputs but those that layers tell, in which
    calls may differ that run the same code, and for the values of those that decide shapes.
    compile_open: gives the artifact for shapes with None for open extents, and the shapes for which
    costs are compared, or usual ones; raises Unsupported or ModelError where there is none.
    infer: raises ModelError where layers do not take these shapes.
    """

    def __init__(
        self,
        compile: Callable[[Shapes, Arrays], Artifact],
        compile_open: Callable[[Mapping[str, OpenShape], Shapes], Artifact],
        infer: Callable[[Mapping[str, OpenShape], Arrays], object],
        inputs: Iterable[OpenBinding],
        outputs: Iterable[str],
        *,
        target: str,
        num_threads: int,
    ) -> None:
        self._compile, self._compile_open, self._infer = compile, compile_open, infer
        self._open = tuple(inputs)
        self.inputs = self._open
        self.outputs = tuple(OpenBinding.of(name, None) for name in outputs)
        self._name_all()
        self.num_threads = min(num_threads, cpu.cores())
        self.target = target
        self.reason: str | None = None
        if any(binding.settles for binding in self._open):
            self.reason = "the values of an input decide shapes"
        self._apart = True
        """Whether one token can have a version of its own."""
        self._odd: set[tuple[Shape, ...]] = set()
        """Shapes that no version is right for."""
        self._kept = _Kept(MOST_KEPT)
        self._versions = _Versions()
        self._last: Model | None = None
        self._closed = False

    def compiled(self, input_shapes: Mapping[str, Sequence[int]] | None = None) -> Model:
        """The model for these shapes of the inputs, compiled unless it is kept.

        input_shapes: in numpy order by blob name; an input whose shape is known may be left out.
        Raises InputError for shapes that are missing or do not fit, or where values decide shapes,
        and what compiling raises.
        """
        if any(binding.settles for binding in self._open):
            names = ", ".join(repr(binding.name) for binding in self._open if binding.settles)
            raise InputError(f"the values of {names} decide shapes: call the model with them")
        given = shapes_by_name(input_shapes)
        for name in given:
            if name not in self._input_names:
                raise InputError.unknown_name("input", name, self._input_names)
        require_shapes(binding for binding in self._open if binding.name not in given)
        shapes: dict[str, Shape] = {}
        for binding in self._open:
            name = binding.name
            if binding.implied and name not in given:
                continue
            asked = given.get(name, binding.shape)
            shape = tuple(extent for extent in asked if extent is not None)
            if len(shape) < len(asked) or not binding.admits(shape):
                raise InputError(
                    f"the shape for input {name!r} does not fit",
                    name,
                    binding.extents,
                    shown(asked),
                )
            shapes[name] = shape
        self._last = None  # so that its next use counts
        return self._model(shapes, {})

    def save(self, path: PathLike, input_shapes: Mapping[str, Sequence[int]] | None = None) -> None:
        """Write the model for these shapes to a .ncc file; without them for all shapes, as
        `ncc compile` does.

        Raises what `compiled` does, and Unsupported where the network cannot be for all shapes.
        """
        if input_shapes is None:
            self.require_ranks()
        if input_shapes is not None or any(map(OpenBinding.needs_a_call, self._open)):
            self.compiled(input_shapes).save(path)
            return
        known = {b.name: b.open_shape for b in self._open if not b.implied}
        self._compile_open(known, {}).save(path)

    def require_ranks(self) -> None:
        """Raise the InputError for inputs of which nobody says how many axes they have."""
        asked = [binding for binding in self._open if not binding.implied]
        require_ranks({b.name: b.open_shape if b.ranked else None for b in asked})

    def _run(self, feeds: Mapping[str, ArrayLike]) -> dict[str, Array]:
        last = self._last  # another call may set it
        known = None if last is None else last.known(feeds)
        if last is not None and known is not None:
            return last._run_on(*known)
        asked = [b for b in self._open if b.name in feeds or not (b.implied and b.is_cache)]
        arrays = {binding.name: fed(feeds, binding) for binding in asked}
        # An empty cache is as one that is not fed.
        asked = [binding for binding in asked if not binding.implied or arrays[binding.name].size]
        arrays = {binding.name: arrays[binding.name] for binding in asked}
        values = {b.name: arrays[b.name] for b in asked if b.settles}
        shapes = {name: array.shape for name, array in arrays.items()}
        try:
            model = self._version(shapes) or self._alone(shapes, values)
        except ModelError as error:
            wrong = misfed(error, arrays, asked)
            if wrong is None and not self._takes_others():
                raise
            raise wrong or not_taken(error, arrays, asked) from error
        if not values:
            self._last = model
            if self._closed:  # while this one was found
                self._last = None
        return model._run(arrays)

    def _takes_others(self) -> bool:
        """Whether layers take any shapes, so that the file is not at fault for those of a call."""
        if self._versions.models or self._kept.models():
            return True
        asked = [binding for binding in self._open if not binding.implied]
        for rank in USUAL_RANKS if not all(b.ranked for b in asked) else USUAL_RANKS[:1]:
            shapes = {b.name: b.open_shape if b.ranked else (None,) * rank for b in asked}
            try:
                self._infer(shapes, {})
            except ModelError:
                continue
            except Unsupported:
                return True  # of open shapes, though the layers take some
            return True
        return False

    def _version(self, shapes: Shapes) -> Model | None:
        """The version for shapes, compiled where there is none; None where there can be none."""
        if self._closed:
            raise NccError("the model is closed")
        versions = self._versions = self._versions.of_this_process()
        found = self._good(versions, shapes)
        if found is None and self._may_be_open(shapes):
            with versions.lock:
                found = self._good(versions, shapes)  # another call may have made it
                if found is None and self._may_be_open(shapes):
                    found = self._made_open(shapes, versions)
                    self._apart &= found is None or self._good(versions, shapes) is not None
        if self._closed:  # while this one was made
            self.close()
        return found

    def _good(self, versions: _Versions, shapes: Shapes) -> Model | None:
        """The version for these shapes; beside caches, one token has a version of its own."""
        is_apart = self._apart and any(binding.is_cache for binding in self._open)
        others = [b for b in self._open if not (b.implied or b.is_cache)] if is_apart else []
        return versions.find(shapes, {b.name: shapes[b.name] for b in others})

    def _may_be_open(self, shapes: Shapes) -> bool:
        """Whether nothing is known yet that keeps a version from being right for these shapes."""
        return self.reason is None and tuple(shapes.values()) not in self._odd

    def _made_open(self, shapes: Shapes, versions: _Versions) -> Model | None:
        """A new version for these shapes and others; None where there is none, for these shapes or,
        as `reason` says then, for any.
        """
        self._require_taken(shapes, {})
        model, reason, is_odd = self._open_model(shapes)
        if model is not None:
            versions.add(model)
            return model
        # Where shapes do not fit the layers, the compilation for them says so.
        self._model(shapes, {})
        self._odd.add(tuple(shapes.values()))
        if not is_odd or len(self._odd) == MOST_ODD:
            self.reason = reason
        return None

    def _open_model(self, shapes: Shapes) -> tuple[Model | None, str, bool]:
        """A new version; or why there is none, and whether there is one for other shapes."""
        one_sample, mixing = is_one_sample(self._open, shapes), None
        reason, is_odd = "", False
        for open_shapes in candidates(self._open, shapes):
            try:
                model = self._right_for(shapes, open_shapes)
            except (ModelError, Unsupported) as error:
                reason = str(error).partition("\n")[0]
                is_odd = is_odd or isinstance(error, _Odd)
                continue
            if not (one_sample and _mixes_samples(model.artifact)):
                return model, "", False
            mixing = mixing or model
        return mixing, reason, is_odd

    def _right_for(self, shapes: Shapes, open_shapes: Mapping[str, OpenShape]) -> Model:
        """A version that is right for the shapes of a call: for larger hints, if they are small,
        unless layers do not take these, or their code is not for small images. An empty array tells
        no hint: usual ones count.
        """
        if any(b.implied or 0 in shapes[b.name] for b in self._open):
            return self._with_hints({}, shapes, open_shapes)
        larger = larger_hints(self._open, shapes, open_shapes)
        if larger != shapes:
            with suppress(ModelError, Unsupported):
                return self._with_hints(larger, shapes, open_shapes)
        return self._with_hints(shapes, shapes, open_shapes)

    def _with_hints(
        self, hints: Shapes, shapes: Shapes, open_shapes: Mapping[str, OpenShape]
    ) -> Model:
        """A version for the hints, if it is right for the shapes of a call."""
        model = self._shared(self._compile_open(open_shapes, hints))
        if not model.is_for(shapes):
            raise _Odd("code for all shapes that is right for those of a call")
        return model

    def _alone(self, shapes: Shapes, values: Arrays) -> Model:
        """The model for the shapes of a call alone, and any number of rows in caches."""
        model = self._model(shapes, values)
        if not model.is_for(shapes):
            self._require_taken(shapes, values)
        return model

    def _model(self, shapes: Shapes, values: Arrays) -> Model:
        """The model for one set of shapes alone."""
        if self._closed:
            raise NccError("the model is closed")
        settled = {b.name: shapes[b.name] for b in self._open if not b.implied}
        kept = self._kept = self._kept.of_this_process()
        key: Key = (*settled.values(), *(array.tobytes() for array in values.values()))
        model = kept.get(key, lambda: self._made(settled, values))
        if self._closed:  # while this one was made
            self.close()
        return model

    def _made(self, shapes: Shapes, values: Arrays) -> Model:
        """The model for shapes."""
        return self._shared(self._compile(shapes, values))

    def _require_taken(self, shapes: Shapes, values: Arrays) -> None:
        """Raise the ModelError of layers that do not take the shapes of caches, or the masks over
        them, in a call. A cache that is not fed is empty.
        """
        told = [binding for binding in self._open if binding.implied]
        empty = {b.name: EMPTY for b in told if b.is_cache and b.name not in shapes}
        if told:
            self._infer({**empty, **shapes}, values)

    def _shared(self, artifact: Artifact) -> Model:
        """The model of an artifact; weights that are packed as for others are in memory once."""
        return Model(sharing_weights(artifact, [*self._versions.models, *self._kept.models()]))

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError(
            "a model of open shapes cannot be pickled: pickle model.compiled(shapes), or compile "
            "again where it is needed"
        )

    def close(self) -> None:
        """Give back arenas and threads; calls that are running finish first, later ones fail."""
        self._closed, self._last = True, None
        for model in (*self._versions.models, *self._kept.models()):
            model.close()

    def __repr__(self) -> str:
        inputs = ", ".join(map(str, self.inputs))
        outputs = ", ".join(map(str, self.outputs))
        made = f"versions for all shapes: {len(self._versions.models)}"
        if self.reason is not None:
            made = f"compiled for {len(self._kept.models())} shapes, since {self.reason}"
        return f"<OpenModel {inputs} -> {outputs}, {self.target}, {made}>"


class _Odd(Unsupported):
    """A version is right for other shapes than those of the call."""


class _Versions:
    """The versions for all shapes, in the order in which they were made.

    A call finds the first that is right for its shapes. At most MOST_KEPT are kept; the one that
    was used least recently goes first.
    """

    def __init__(self, models: Iterable[Model] = ()) -> None:
        self.models = list(models)
        self.lock = threading.Lock()
        """Who makes a version holds it."""
        self._process = os.getpid()
        self._used: list[Model] = []

    def of_this_process(self) -> _Versions:
        """This one; in the child of a fork another, whose lock nobody holds that is gone."""
        return self if self._process == os.getpid() else _Versions(self.models)

    def find(self, shapes: Shapes, settled: Shapes = NOTHING) -> Model | None:
        """The version for these shapes, with the number for extents of 1 in some of them."""
        for model in self.models:
            if not _has_open_ones(model, settled) and model.is_for(shapes):
                self._note(model)
                return model
        return None

    def add(self, model: Model) -> None:
        """Keep one more."""
        kept = self._used[1 - MOST_KEPT :]
        self.models = [*(old for old in self.models if old in kept), model]
        self._note(model)

    def _note(self, model: Model) -> None:
        """A use of a version."""
        if self._used[-1:] != [model]:
            others = [other for other in self._used if other is not model]
            self._used = [*others[1 - MOST_KEPT :], model]


def _has_open_ones(model: Model, shapes: Shapes) -> bool:
    """Whether code leaves an extent open that is 1 in these shapes of some inputs."""
    return any(
        (OPEN, 1) in zip(binding.shape, shapes[binding.name], strict=False)
        for binding in model.inputs
        if binding.name in shapes
    )


def _mixes_samples(artifact: Artifact) -> bool:
    """Whether code is for any number of samples at once."""
    return not artifact.by_sample and any(b.shape[:1] == (OPEN,) for b in artifact.inputs)


class _Kept:
    """The models made so far, by their key: at most `most`.

    Every key is made once at a time, and nothing waits for another key.
    """

    def __init__(self, most: int, models: Mapping[Key, Model] | None = None) -> None:
        self.most = most
        self._process = os.getpid()
        self._lock = threading.Lock()
        self._models: OrderedDict[Key, Model] = OrderedDict(models or {})
        self._making: dict[Key, threading.Lock] = {}

    def of_this_process(self) -> _Kept:
        """This one; in the child of a fork another, whose locks nobody holds that is gone."""
        if self._process == os.getpid():
            return self
        return _Kept(self.most, dict(self._models))

    def models(self) -> list[Model]:
        return list(self._models.values())

    def get(self, key: Key, make: Callable[[], Model]) -> Model:
        """The model under a key, made where there is none."""
        with self._lock:
            if key in self._models:
                self._models.move_to_end(key)
                return self._models[key]
            making = self._making.setdefault(key, threading.Lock())
        with making:
            with self._lock:
                if key in self._models:
                    return self._models[key]
            try:
                model = make()
                with self._lock:
                    self._models[key] = model
                    while len(self._models) > self.most:
                        self._models.popitem(last=False)
            finally:
                with self._lock:
                    self._making.pop(key, None)
        return model


def settled(model: Model) -> Model:
    """The model, compiled now. Raises the InputError for a shape that is still open."""
    return model.compiled() if isinstance(model, OpenModel) else model


def callable_now(model: Model) -> Model:
    """The same, but where values decide shapes, so that only calls can compile."""
    settles = any(isinstance(b, OpenBinding) and b.settles for b in model.inputs)
    return model if settles else settled(model)


def sharing_weights(artifact: Artifact, models: Iterable[Model]) -> Artifact:
    """The artifact, on the weights of a model that has the same; as it is where there is none."""
    for model in models:
        if _same_bytes(model.artifact, artifact):
            return replace(artifact, weights=model.artifact.weights)
    return artifact


def _same_bytes(one: Artifact, other: Artifact) -> bool:
    first, second = (np.frombuffer(as_bytes(a.weights), np.uint8) for a in (one, other))
    if first.shape != second.shape:
        return False
    return all(
        np.array_equal(first[at : at + _COMPARED_AT_ONCE], second[at : at + _COMPARED_AT_ONCE])
        for at in range(0, len(first), _COMPARED_AT_ONCE)
    )
