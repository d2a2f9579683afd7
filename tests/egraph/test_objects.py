"""Handles stand in for pickles while an e-graph runs, for its thread only; a host function is asked once."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import cloudpickle
import onnx_ir as ir
import pytest
from onnx import TensorProto

from egraph_opt.egraph.engine import Engine
from egraph_opt.egraph.lowering import Lowered, Term
from egraph_opt.egraph.objects import Handle, Objects, handle_in_rules
from egraph_opt.facts.fact import Fact
from egraph_opt.laws import Law, Settings, Tensor, hosted, rewrite
from egraph_opt.operators import unary
from egraph_opt.operators.host import HostFunction, calls

REAL = (cloudpickle.dumps, cloudpickle.loads)
ASKED: list[Any] = []


@pytest.fixture(autouse=True)
def as_it_was() -> Iterator[None]:
    """Whatever a test does, `cloudpickle` is what it was."""
    ASKED.clear()
    yield
    assert (cloudpickle.dumps, cloudpickle.loads) == REAL


@hosted()
def once_more(s: Settings) -> Settings:
    ASKED.append(s)
    return (*s, ("more", 1.0)) if len(s) < 3 else None  # type: ignore[return-value]


@hosted()
def fails(s: Settings) -> Settings:
    ASKED.append(s)
    raise ValueError(str(s))


def asks_once_more(x: Tensor, s: Settings) -> Iterator[Any]:
    """Relu_s(x) = Relu_(s and more)(x)"""
    yield rewrite(unary("Relu", s, x), unary("Relu", once_more(s), x), because="one side is enough here")


def engine_of(function: Any) -> Engine:
    return Engine((Law("testing", function.__name__, "", "algebra", "bitwise", function, None),))


def chain(length: int) -> Lowered:
    """Relu of Relu of ..."""
    lowered = Lowered(ir.Graph([], [], nodes=[]), 17)
    lowered.terms += [Term("leaf", (0,), ()), *(Term("unary", ("Relu", ()), (k,)) for k in range(length))]
    lowered.facts += [Fact(TensorProto.FLOAT, (2,))] * (length + 1)
    lowered.names += [[] for _ in range(length + 1)]
    return lowered


def called(objects: Objects, function: HostFunction, *values: Any) -> Any:
    """What egglog gets from a host function that it calls."""
    call = objects.loaded[handle_in_rules(function)]
    return objects.value(objects.loaded[call(*(objects.loaded[objects.handle(v)] for v in values))])


def test_a_host_function_is_asked_once_for_the_same_arguments() -> None:
    engine = engine_of(asks_once_more)
    for _ in range(2):  # the answers outlive the graph
        engine.load(chain(20), {})
        while engine.apply("laws.testing")[0]:
            engine.analyse()
        assert sorted(ASKED, key=len) == [(("more", 1.0),) * k for k in range(4)]


def test_one_that_raises_is_recorded_each_time() -> None:
    objects = Objects()
    for _ in range(2):
        calls.forget()
        assert called(objects, fails, ("x",)) is None
        assert calls.failures.pop(fails) == "ValueError: ('x',)"
    assert len(ASKED) == 2


VALUES = [0.0, -0.0, 0, False, 1, True, 1.0, None, "", "a", (), ("a", 1), Fact(1, ("N",))]


@pytest.mark.parametrize("value", VALUES)
def test_an_object_comes_back_as_it_was_written(value: Any) -> None:
    objects = Objects()
    handle = objects.handle(value)
    assert handle == handle_in_rules(value) and objects.handle(value) is handle
    assert repr(objects.value(objects.loaded[handle])) == repr(value)
    assert sum(objects.handle(other) == handle for other in VALUES) == 1


def test_two_functions_of_one_name_are_two() -> None:
    def made(answer: int) -> HostFunction:
        def function() -> int:
            return answer

        return hosted()(function)

    functions = [made(k) for k in range(3)]
    assert len({handle_in_rules(function) for function in functions}) == 3
    assert handle_in_rules(functions[1]) == handle_in_rules(functions[1])
    assert [called(Objects(), function) for function in functions] == [0, 1, 2]


def test_what_is_no_handle_is_pickled_as_always() -> None:
    objects = Objects()
    pickled = REAL[0]({"a": 1})
    with objects.stand_in():
        assert cloudpickle.loads(pickled) == cloudpickle.loads(bytearray(pickled)) == {"a": 1}
        assert cloudpickle.loads(pickled, encoding="utf-8") == {"a": 1}
        assert type(cloudpickle.dumps("a text")) is Handle
        seen: list[Any] = []
        other = threading.Thread(
            target=lambda: seen.append(cloudpickle.loads(cloudpickle.dumps("a text", protocol=4)))
        )
        other.start()
        other.join()
        assert seen == ["a text"]


def test_a_host_function_pickles_what_it_likes() -> None:
    @hosted()
    def pickles(x: int) -> bytes:
        return REAL[1](cloudpickle.dumps(x))

    objects = Objects()
    with objects.stand_in():
        assert called(objects, pickles, 5) == 5


def test_two_threads_stand_in_at_once() -> None:
    mine, theirs = Objects(), Objects()
    enter, leave = threading.Event(), threading.Event()
    seen: list[Any] = []

    def other() -> None:
        with theirs.stand_in():
            handle = cloudpickle.dumps(("theirs",))
            enter.set()
            leave.wait()
            seen.append(theirs.value(cloudpickle.loads(bytes(handle))))

    thread = threading.Thread(target=other)
    with mine.stand_in():
        thread.start()
        enter.wait()
        handle = cloudpickle.dumps(("mine",))
        assert mine.value(cloudpickle.loads(bytes(handle))) == ("mine",)
    assert cloudpickle.loads(REAL[0](3)) == 3
    leave.set()
    thread.join()
    assert seen == [("theirs",)]
