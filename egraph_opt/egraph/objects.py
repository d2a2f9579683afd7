"""Python objects in egglog by short handles, and what host functions answer, each computed once.

egglog's `PyObject` is a string of bytes.  Its bindings look `cloudpickle.dumps` and `cloudpickle.loads` up
at every call of a host function, to read the function and its arguments and to write the answer: 25 us.
While an e-graph of ours runs in a thread, handles stand in for pickles there (`Objects.stand_in`): `loads`
finds what a handle is of in a table, and `dumps` hands the handle on that the call has answered already.
Afterwards the two are as they were; bytes that are no handle, and other threads, get the real ones always.

A handle says how its object is written: equal where egglog is to see one object (0.0 and -0.0 are two, and so
are 1 and True), the same in every process.
"""

from __future__ import annotations

import base64
import os
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import cloudpickle

from egraph_opt.egraph.admission import admission_of_thread, admitted
from egraph_opt.operators.host import HostFunction, calls

MOST = 1 << 16
"""Objects and answers that a thread keeps before it starts anew, which it does between two graphs."""


LOOKS = 1 << 10
"""After so many answers that are known it is looked whether the time of a run is over."""


class Handle(bytes):
    """What egglog holds of an object; no pickle begins like it."""

    __slots__ = ()

    @property
    def text(self) -> str:
        """As egglog's text has bytes."""
        return base64.b64encode(self).decode()


def _handle(text: str) -> Handle:
    return Handle(b"e" + blake2b(text.encode("utf-8", "surrogatepass"), digest_size=11).digest())


_named: dict[Handle, Any] = {}
"""What rules name: constants and host functions, for all threads; as many as there are in laws."""


def handle_in_rules(value: Any) -> Handle:
    """The handle of an object that a rule names."""
    name, count = f"{value.__module__}.{value.__qualname__}()" if callable(value) else repr(value), 0
    while _named.setdefault(found := _handle(name), value) is not value and callable(value):
        count += 1  # two functions of one name, which were made by a function
        name = f"{name}{count}"
    return found


class Objects:
    """What the e-graphs of a thread hold, by handle, and what host functions have answered there."""

    def __init__(self) -> None:
        self._handles: dict[str, Handle] = {}
        self._values: dict[Handle, Any] = {}
        self._answers: dict[HostFunction, dict[tuple[Any, ...], Handle]] = {}
        self.loaded = _Loaded(self)
        self.load = _loader(self.loaded)
        self.asked = 0

    def __len__(self) -> int:
        return len(self._handles) + self.answered

    @property
    def answered(self) -> int:
        """Distinct calls of host functions."""
        return sum(map(len, self._answers.values()))

    def handle(self, value: Any) -> Handle:
        """The handle of an object."""
        text = repr(value)
        found = self._handles.get(text)
        if found is None:
            found = self._handles[text] = _handle(text)
            self.keep(found, value)
        return found

    def keep(self, handle: Handle, value: Any) -> Any:
        """Remember what a handle is of; returns what `loads` answers: bools and texts go to egglog itself."""
        self._values[handle] = value
        if isinstance(value, HostFunction):
            self.loaded[handle] = self._caller(value)
        else:
            self.loaded[handle] = value if isinstance(value, (bool, str)) else handle
        return self.loaded[handle]

    def value(self, loaded: Any) -> Any:
        """The object that something `loads` answered stands for."""
        return self._values[loaded] if type(loaded) is Handle else loaded

    def _caller(self, function: HostFunction) -> Callable[..., Handle]:
        """A host function that takes handles and answers one, as egglog calls it."""
        answers = self._answers.setdefault(function, {})
        admission, nothing = admission_of_thread(), self.handle(function.default)
        if function is admitted:
            values, yes, no = self._values, self.handle(True), self.handle(False)
            return lambda writes: yes if admission.admits(values[writes]) else no

        def call(*arguments: Any) -> Handle:
            self.asked += 1
            if not self.asked % LOOKS:
                admission.look_at_the_clock()
            if admission.refused and not function.merges:
                return nothing
            answer = answers.get(arguments)
            if answer is None:
                answer = self.handle(function(*map(self.value, arguments)))
                admission.look_at_the_clock()
                if function not in calls.failures:
                    answers[arguments] = answer
            return answer

        return call

    def stand_in(self) -> AbstractContextManager[None]:
        """Within this context egglog, where this thread calls it, holds handles instead of pickles."""
        return _StandIn(self)


class _StandIn:
    """See `Objects.stand_in`; entered for every command, so it is no generator."""

    __slots__ = ("_before", "_objects")

    def __init__(self, objects: Objects) -> None:
        self._objects = objects

    def __enter__(self) -> None:
        thread = threading.get_ident()
        self._before = _active.get(thread)
        if self._before is not self._objects:
            _activate(thread, self._objects)

    def __exit__(self, *raised: object) -> None:
        if self._before is not self._objects:
            _activate(threading.get_ident(), self._before)


class _Loaded(dict[bytes, Any]):
    """What `loads` answers, by handle; of anything else, what the real one answers."""

    def __init__(self, objects: Objects) -> None:
        super().__init__()
        self._objects = objects

    def __missing__(self, key: bytes) -> Any:
        if key in _named:
            return self._objects.keep(Handle(key), _named[Handle(key)])
        return _real.loads(key)


@dataclass
class _Pickling:
    """What `cloudpickle` has where no handles stand in."""

    dumps: Callable[..., Any]
    loads: Callable[..., Any]

    def restore(self) -> None:
        cloudpickle.dumps, cloudpickle.loads = self.dumps, self.loads


_real = _Pickling(cloudpickle.dumps, cloudpickle.loads)
_active: dict[int, Objects] = {}
_lock = threading.Lock()


def _activate(thread: int, objects: Objects | None) -> None:
    """Let `cloudpickle` serve the threads that run an e-graph, and be as it was where none does."""
    with _lock:
        if not _active:
            _real.dumps, _real.loads = cloudpickle.dumps, cloudpickle.loads
        if objects is None:
            _active.pop(thread, None)
        else:
            _active[thread] = objects
        if _active:
            only = next(iter(_active.values())) if len(_active) == 1 else None
            cloudpickle.dumps = _dump
            cloudpickle.loads = _load_by_thread if only is None else only.load
        else:
            _real.restore()


def _dump(value: Any, *arguments: Any, **named: Any) -> bytes:
    if type(value) is Handle:
        return value
    objects = _active.get(threading.get_ident())
    if (
        objects is None or calls.running.function is not None
    ):  # what a host function pickles is its own affair
        return _real.dumps(value, *arguments, **named)  # type: ignore[no-any-return]
    return objects.handle(value)


def _loader(loaded: _Loaded) -> Callable[..., Any]:
    """`loads` where one thread runs an e-graph; what others read is no handle."""

    def load(pickled: Any, /, **named: Any) -> Any:
        return loaded[pickled] if type(pickled) is bytes and not named else _real.loads(pickled, **named)

    return load


def _load_by_thread(pickled: Any, /, **named: Any) -> Any:
    objects = _active.get(threading.get_ident())
    if objects is None or named or type(pickled) is not bytes:
        return _real.loads(pickled, **named)
    return objects.loaded[pickled]


class _OfThread(threading.local):
    def __init__(self) -> None:
        self.objects = Objects()


_of_thread = _OfThread()


def objects_of_thread() -> Objects:
    """What the engines of this thread share."""
    return _of_thread.objects


def begin_anew() -> None:
    """Let engines that this thread makes from now on share nothing with earlier ones."""
    _of_thread.objects = Objects()


def _begin_child() -> None:
    """After a fork: the threads that ran e-graphs are the parent's."""
    global _lock
    _lock = threading.Lock()
    if _active:
        _active.clear()
        _real.restore()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_child)
