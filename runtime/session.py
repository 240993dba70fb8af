"""A compiled model in memory: check and bind arrays, run, hand out results."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from operator import index
from typing import Any, Protocol, TypeAlias

import numpy as np

from ncc.runtime import cpu
from ncc.runtime.artifact import (
    ALIGNMENT,
    DYNAMIC_HEADER,
    FIRST_BUFFER,
    Artifact,
    Binding,
    as_bytes,
    extents,
)
from ncc.runtime.context import Context, Places
from ncc.runtime.errors import ArtifactError, InputError, NccError
from ncc.runtime.forms import Form, other_forms
from ncc.runtime.machine_code import MachineCode
from ncc.runtime.memory import Memory
from ncc.runtime.memory_files import FileLike
from ncc.runtime.paths import PathLike
from ncc.runtime.results import Array, address_of
from ncc.runtime.sizes import Sized


class SupportsArray(Protocol):
    """Values that numpy can view as an array: tensors of other libraries."""

    def __array__(self) -> Array: ...


ArrayLike: TypeAlias = "Array | SupportsArray | memoryview"
Shapes: TypeAlias = tuple[tuple[int, ...], ...]

MOST_SIZES = 256
"""Sets of shapes that a model of open shapes keeps what it has computed for."""


class Model:
    """A compiled model that can be called.

    Arrays are in numpy order and have no batch axis. Any strides are accepted; the caller's
    memory is never written, and every call returns arrays that nobody else has. Several Python
    threads may call one model at once: each call in flight has an arena and threads of its own,
    which are kept for later calls, and so is memory of results that nobody has any more. The
    interpreter's lock is not held during a run. A model made before a fork can be used in parent
    and child; pickled, it takes code and weights along.

    inputs, outputs: in the order of the file, each with its name, shape (numpy order) and dtype.
    num_threads: at most, and by default, what the artifact was compiled for; the default is also
    held to the cores that this process may use.
    Raises ArtifactError where the artifact does not fit this CPU or its code cannot be loaded.
    """

    def __init__(self, artifact: Artifact, num_threads: int | None = None) -> None:
        if not isinstance(artifact, Artifact):
            wanted = "an Artifact (ncc.load opens a file)"
            raise InputError("a model is made of what was compiled", None, wanted, _kind(artifact))
        artifact.require_cpu()
        if "amx_tile" in artifact.features and not cpu.allow_tiles():
            raise ArtifactError("this system does not allow the use of AMX tiles", ["amx_tile"])
        self.artifact = artifact
        self.inputs: tuple[Binding, ...] = artifact.inputs
        self.outputs: tuple[Binding, ...] = artifact.outputs
        self.num_threads = _thread_count(artifact, num_threads)
        self._code = MachineCode(artifact.objects)
        self._weights = _aligned_weights(artifact)
        self._name_all()
        samples = 1 if artifact.by_sample else None
        self._of_a_run = tuple(binding.of_batch(samples) for binding in self.outputs)
        self._fed = [(binding.name, np.dtype(binding.dtype)) for binding in self.inputs]
        self._places = Places(
            self._weights.ctypes.data,
            len(self.inputs),
            len(self.outputs),
            0 if artifact.sizes is None else len(artifact.sizes.numbers),
        )
        self._fixed = None
        if artifact.sizes is None:
            self._fixed = Sized(artifact.arena_bytes, (None,) * len(self.outputs))
        self._known: dict[Shapes, Sized | str] = {}
        if self._fixed is not None:
            self._known[tuple(binding.shape for binding in self.inputs)] = self._fixed
        self._dynamic = [binding for binding in self.outputs if binding.dynamic]
        # Contexts that no call is using. pop and append of a list are atomic: no lock is needed
        # that a fork could leave locked.
        self._free: list[Context] = []
        self._closed = False

    def _name_all(self) -> None:
        """Note the names of inputs and outputs, in order."""
        self._input_names = {binding.name: None for binding in self.inputs}
        self._output_names = {binding.name: None for binding in self.outputs}

    @classmethod
    def load(
        cls, path: FileLike, num_threads: int | None = None, *, verify_weights: bool = False
    ) -> Model:
        """The model in a .ncc file, which holds code: load only what you would run.

        path: or the bytes of the file, or the file opened for reading bytes. verify_weights: read
        all weights and compare their checksum; that of code and tables always is compared.

        num_threads: as for `Model`. Raises ArtifactError, or OSError without a file.
        """
        return cls(Artifact.load(path, verify_weights=verify_weights), num_threads)

    def save(self, path: PathLike) -> None:
        """Write the model to a .ncc file, to be opened by `ncc.load`. Raises OSError."""
        self.artifact.save(path)

    def __reduce__(self) -> tuple[Any, ...]:
        return Model, (self.artifact, self.num_threads)

    def __call__(self, x: ArrayLike) -> Array:
        """The output of a model with one input and one output.

        Raises InputError where the model has others, or x has another dtype or shape.
        """
        if len(self.inputs) != 1 or len(self.outputs) != 1:
            raise InputError(
                "only a model with one input and one output can be called with an array; use run: "
                f"this one has inputs {_names(self.inputs)} and outputs {_names(self.outputs)}"
            )
        return self._run({self.inputs[0].name: x})[self.outputs[0].name]

    def run(
        self, feeds: Mapping[str, ArrayLike], outputs: Iterable[str] | None = None
    ) -> dict[str, Array]:
        """Run on all inputs, by blob name; the outputs that are asked for (default: all), by name.

        Raises InputError for names, dtypes or shapes that do not fit.
        """
        if not isinstance(feeds, Mapping):
            raise InputError(f"run expects a dict of arrays by name, found {_kind(feeds)}")
        for name in feeds:
            if name not in self._input_names:
                raise InputError.unknown_name("input", str(name), self._input_names)
        if outputs is None:
            return self._run(feeds)
        one = isinstance(outputs, str) or not isinstance(outputs, Iterable)
        wanted: list[Any] = [outputs] if one else list(outputs)
        for name in wanted:
            if not isinstance(name, str) or name not in self._output_names:
                raise InputError.unknown_name("output", str(name), self._output_names)
        results = self._run(feeds)
        return {name: results[name] for name in wanted}

    def is_for(self, shapes: Mapping[str, tuple[int, ...]]) -> bool:
        """Whether the code is right for inputs of these shapes."""
        found = tuple(shapes.get(b.name, b.first) for b in self.inputs)
        admitted = (b.admits(shape) for b, shape in zip(self.inputs, found, strict=True))
        if not all(admitted):
            return False
        if self.artifact.by_sample:
            found = tuple((1, *shape[1:]) for shape in found)
        return isinstance(self._sized(found), Sized)

    def _sized(self, shapes: Shapes) -> Sized | str:
        """What a run with inputs of these shapes needs; or why the code is not for them.

        Where shapes are open, that is computed, and kept for the last sets of shapes.
        """
        if self._fixed is not None:
            return self._fixed
        found = self._known.get(shapes)
        if found is None:
            assert self.artifact.sizes is not None
            if len(self._known) >= MOST_SIZES:
                self._known.clear()
            found = self._known[shapes] = self.artifact.sizes.at(shapes)
        return found

    def known(self, feeds: Mapping[str, ArrayLike]) -> tuple[list[Array], Sized] | None:
        """The arrays for all inputs and what a run with them needs, if they can be fed as they are,
        and their shapes are known to be right.

        That is so of nearly all. All other checks take longer than a run of a small model.
        """
        arrays = []
        for name, dtype in self._fed:
            fed = feeds.get(name)
            if type(fed) is not np.ndarray or fed.dtype is not dtype or not fed.flags.carray:
                return None
            arrays.append(fed)
        sized = self._known.get(tuple([array.shape for array in arrays]))
        if type(sized) is not Sized or self.artifact.by_sample:
            return None
        return arrays, sized

    def _run(self, feeds: Mapping[str, ArrayLike]) -> dict[str, Array]:
        known = self.known(feeds)
        if known is not None:
            return self._run_on(*known)
        arrays = [_checked(feeds, binding) for binding in self.inputs]
        if self.artifact.by_sample:
            return self._run_samples(arrays)
        return self._run_on(arrays, self._sized_of(arrays))

    def _run_samples(self, arrays: Sequence[Array]) -> dict[str, Array]:
        """The results of a batch, whose samples are run one after the other."""
        counts = {len(array) for array in arrays}
        if len(counts) > 1:
            fed = zip(self.inputs, arrays, strict=True)
            told = ", ".join(f"{len(array)} of {binding.name!r}" for binding, array in fed)
            raise InputError(f"the inputs have different numbers of samples: {told}")
        one_by_one = ([array[k : k + 1] for array in arrays] for k in range(counts.pop()))
        made = [self._run_on(sample, self._sized_of(sample)) for sample in one_by_one]
        if len(made) == 1:
            return made[0]
        return {name: np.concatenate([one[name] for one in made]) for name in self._output_names}

    def _run_on(self, arrays: Sequence[Array], sized: Sized) -> dict[str, Array]:
        """The results of one run of the code."""
        context = self._take()
        context.prepare(sized)
        buffers = context.buffers
        for slot, array in enumerate(arrays, FIRST_BUFFER):
            buffers[slot] = address_of(array)
        results = {}
        for (slot, name, memory), shape in zip(context.results, sized.outputs, strict=True):
            results[name], buffers[slot] = memory.make(shape)
        context.run()
        self._give_back(context)
        for binding in self._dynamic:
            results[binding.name] = _found_rows(results[binding.name], binding)
        return results

    def _sized_of(self, arrays: Sequence[Array]) -> Sized:
        """What a run with these arrays needs. Raises InputError where the code is not for them."""
        sized = self._sized(tuple(array.shape for array in arrays))
        if isinstance(sized, Sized):
            return sized
        open_ones = [(b, array) for b, array in zip(self.inputs, arrays, strict=True) if b.is_open]
        told = ", ".join(f"{b.name!r} of {extents(array.shape)}" for b, array in open_ones)
        raise InputError(
            f"the code is not for input {told}, where {sized} does not hold: if the layers take "
            "this shape, compile the network for it as well"
        )

    def _take(self) -> Context:
        """A free context; a new one if there is none."""
        while not self._closed:
            try:
                context = self._free.pop()
            except IndexError:
                return Context(self._code, self.num_threads, self._places, self._of_a_run)
            if not context.is_lost:
                return context
            context.team.dissolve()
        raise NccError("the model is closed")

    def _give_back(self, context: Context) -> None:
        self._free.append(context)
        if self._closed:
            self.close()

    def close(self) -> None:
        """Give back arenas and threads; calls that are running finish first, later ones fail.

        A model that is merely forgotten gives back everything as well.
        """
        self._closed = True
        while True:
            try:
                context = self._free.pop()
            except IndexError:
                return
            context.team.dissolve()

    def __enter__(self) -> Model:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        inputs = ", ".join(map(str, self.inputs))
        outputs = ", ".join(map(str, self.outputs))
        return f"<Model {inputs} -> {outputs}, {self.artifact.target}>"


def _thread_count(artifact: Artifact, wanted: int | None) -> int:
    if wanted is None:
        return min(artifact.threads, cpu.cores())
    try:
        count = index(wanted)
    except TypeError:
        count = 0
    most = artifact.threads
    if 1 <= count <= most:
        return count
    can = "1 thread" if most == 1 else f"1 to {most} threads"
    message = f"num_threads is {wanted!r}, and the model was compiled for {can}"
    if count > most:
        message += (
            f": compile it with num_threads={count} (`ncc compile --threads {count}`), and it "
            f"takes 1 to {count}"
        )
    raise InputError(message)


def in_memory(artifact: Artifact) -> Artifact:
    """The artifact with its weights in memory of this process, in huge pages where these pay."""
    weights = as_bytes(artifact.weights)
    memory = memoryview(Memory(len(weights)).bytes)[: len(weights)]
    memory[:] = weights
    return replace(artifact, weights=memory)


def _aligned_weights(artifact: Artifact) -> Array:
    """The weights' bytes, where they are if that is aligned, else in a copy."""
    flat = np.frombuffer(as_bytes(artifact.weights), np.uint8)
    if flat.ctypes.data % ALIGNMENT == 0:
        return flat
    return np.frombuffer(as_bytes(in_memory(artifact).weights), np.uint8)


def _checked(feeds: Mapping[str, ArrayLike], binding: Binding) -> Array:
    """The array for an input, contiguous, or the InputError that says what is wrong with it.

    A cache that is not fed is empty, and so is an array without elements, whatever its shape.
    """
    dtype = np.dtype(binding.dtype)
    may_be_empty = 0 in binding.first
    if binding.name not in feeds and not may_be_empty:
        raise misfit(binding, None)
    array = as_array(feeds.get(binding.name, np.empty(0, dtype)), binding)
    if may_be_empty and array.size == 0:
        array = array.reshape(binding.first)
    if array.dtype != dtype or not binding.admits(array.shape):
        raise misfit(binding, array)
    if array.flags.c_contiguous and array.flags.aligned:
        return array
    return array.copy(order="C")


def misfit(binding: Binding, array: Array | None, form: Form | None = None) -> InputError:
    """The array for an input does not fit, or was not given. form: the one that would fit."""
    name, expected = binding.name, f"{binding.dtype} {binding.extents}"
    if array is None:
        return InputError(f"no array was given for input {name!r}", name, expected)
    advice = _advice(binding, array) if form is None else f": {form}"
    found = f"{array.dtype} {extents(array.shape)}{advice}"
    return InputError(f"input {name!r} does not fit", name, expected, found)


def _advice(binding: Binding, array: Array) -> str:
    """A form in which the array would fit, if other systems feed it in another form."""
    typed = array.dtype == binding.dtype
    if binding.admits(array.shape):
        return "" if typed else f": feed x.astype({binding.dtype!r})"
    if not array.size:
        return ", which has no elements"
    for form in other_forms(array.shape):
        if binding.admits(form.shape):
            return f": {form if typed else form.typed(binding.dtype)}"
    return ""


def as_array(value: object, binding: Binding) -> Array:
    """The array that another library's tensor, or a buffer, shows itself as."""
    if isinstance(value, np.ndarray):
        return value
    if hasattr(value, "__array__"):
        return np.asarray(value)
    if hasattr(value, "__dlpack__"):
        return np.from_dlpack(value)
    try:
        return np.asarray(memoryview(value))  # type: ignore[arg-type]
    except TypeError:
        expected, found = f"{binding.dtype} {binding.extents}", _kind(value)
        if isinstance(value, list | tuple):
            found += f": feed numpy.asarray(x, {binding.dtype!r})"
        elif isinstance(value, str | os.PathLike):
            found += ": no file is read here, feed an array"
        elif isinstance(value, Mapping):
            found += ": `run` takes arrays by name"
        raise InputError(
            f"input {binding.name!r} does not fit", binding.name, expected, found
        ) from None


def _found_rows(array: Array, binding: Binding) -> Array:
    """The rows that a run has found, of the array that has room for the most."""
    header = ctypes.c_int64.from_address(array.ctypes.data - DYNAMIC_HEADER)
    if not 0 <= header.value <= len(array):
        raise ArtifactError(
            f"the code found {header.value} rows for output {binding.name!r}, which has room for "
            f"{len(array)}: this is a bug of ncc, please report it"
        )
    return array[: header.value].copy()


def _names(bindings: Iterable[Binding]) -> str:
    return ", ".join(repr(binding.name) for binding in bindings)


def _kind(value: object) -> str:
    return f"a {type(value).__name__}"
