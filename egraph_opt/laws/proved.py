"""Which laws are proved: read from `proofs.json`, which `make proofs` writes; the solver never runs here.

An answer is of the text of a law and of all functions that it calls from its own rooms, of the meanings of
the operators that a proof came to, and of the text of the prover.  One of another text counts for nothing.
"""

from __future__ import annotations

import ast
import hashlib
import inspect
import json
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from importlib.resources import files
from types import CodeType, FunctionType
from typing import Any, Literal, get_args

from egraph_opt.errors import ArgumentError
from egraph_opt.laws.law import Law, auxiliaries
from egraph_opt.operators.host import HostFunction

FILE = "proofs.json"
TRUSTED = ("facts", "proofs")
"""The packages that all proofs rest on."""

MEANINGS = "egraph_opt.semantics"
"""Of operators; a proof rests on those that it uses."""

Which = Literal["all", "proved"]
"""Which laws may be used."""

ENGINE = "egraph_opt."
CONTENT = "egraph_opt.rewrites."


@lru_cache(maxsize=1)
def answers() -> Mapping[str, Any]:
    """What `make proofs` wrote: `trusted` is the digest of the prover, `laws` has a record by key."""
    return json.loads((files("egraph_opt.laws") / FILE).read_text())  # type: ignore[no-any-return]


def was_proved(key: str) -> bool:
    """Whether there is a proof of a law of this name, as it was written when proofs were made."""
    return bool(answers()["laws"].get(key, {}).get("status") == "proved")


def is_proved(law: Law) -> bool:
    """Whether a law was proved as it is written now."""
    if not was_proved(law.key) or law.dropped is not None or law.asks_kernels:
        return False
    return bool(answers()["laws"][law.key]["text"] == digest_of(law))


def among(laws: Iterable[Law], which: str) -> tuple[Law, ...]:
    """All laws, or those of them that are proved.

    Raises:
        ArgumentError: there is no such choice.
    """
    if which not in get_args(Which):
        raise ArgumentError(f"laws={which!r}: is none of {', '.join(get_args(Which))}")
    return tuple(law for law in laws if which == "all" or is_proved(law))


def told_proof(law: Law) -> str:
    """How a law is known to hold, in a few words."""
    if not is_proved(law):
        return "tested"
    return f"proved, ranks to {answers()['laws'][law.key]['ranks']}"


@lru_cache(maxsize=4096)
def digest_of(law: Law) -> str:
    """A digest of a law's text, and of the functions and constants that it names, wherever they are."""
    first = [law.function, *(auxiliary.function for auxiliary in auxiliaries([law]))]
    rooms = (CONTENT, law.function.__module__)
    texts, pending = dict[str, str](), list[Any](first)
    while pending:
        function = pending.pop()
        name = f"{function.__module__}.{function.__qualname__}"
        if name in texts:
            continue
        texts[name] = _text_of(function)
        for key, value in _named(function):
            value = getattr(value, "function", value) if isinstance(value, HostFunction) else value
            value = inspect.unwrap(value) if callable(value) else value
            if isinstance(value, (FunctionType, type)) and value.__module__.startswith(rooms):
                pending.append(value)
            elif isinstance(value, (bool, int, float, str, tuple, frozenset, dict)):
                texts[f"{function.__module__}:{key}"] = _plain(value)
    return hashlib.sha256(repr((law.key, law.numerics, sorted(texts.items()))).encode()).hexdigest()[:16]


@lru_cache(maxsize=4096)
def _text_of(function: Any) -> str:
    return _code(textwrap.dedent(inspect.getsource(function)))


def _code(text: str, annotations: bool = True) -> str:
    """Code without what it does not run on: comments, docstrings, how it is set; and types of parameters."""
    tree = ast.parse(text)
    for part in ast.walk(tree):
        if (
            isinstance(part, (ast.Module, ast.ClassDef, ast.FunctionDef))
            and ast.get_docstring(part) is not None
        ):
            part.body[:1] = [ast.Pass()]
        if isinstance(part, ast.FunctionDef) and not annotations:
            part.returns = None
        if isinstance(part, ast.arg) and not annotations:
            part.annotation = None
    return ast.unparse(tree)


def _plain(value: Any) -> str:
    """A constant as a text that is the same in every process."""
    if isinstance(value, (frozenset, dict)):
        return repr(sorted(map(str, value)))
    return repr(value) if " at 0x" not in repr(value) else type(value).__name__


def _named(function: Any) -> Iterator[tuple[str, Any]]:
    """What a function, or a class, names of its module."""
    methods = [function] if isinstance(function, FunctionType) else list(vars(function).values())
    for method in methods:
        if isinstance(method, FunctionType):
            for name in sorted(_names(method.__code__)):
                if name in method.__globals__:
                    yield name, method.__globals__[name]


def _names(code: CodeType) -> set[str]:
    found, pending = set[str](), [code]
    while pending:
        part = pending.pop()
        found |= set(part.co_names)
        pending += [constant for constant in part.co_consts if isinstance(constant, CodeType)]
    return found


@lru_cache(maxsize=1)
def digest_of_prover() -> str:
    """A digest of what all proofs rest on: the prover, the arithmetic of dims."""
    return digest_of_sources(*TRUSTED)


def digest_of_sources(*packages: str) -> str:
    """A digest of the code of some of the engine's packages."""
    digest = hashlib.sha256()
    for package in packages:
        folder = files(f"egraph_opt.{package}")
        for file in sorted(folder.iterdir(), key=lambda file: file.name):
            if file.name.endswith(".py"):
                digest.update((file.name + _code(file.read_text(), annotations=False)).encode())
    return digest.hexdigest()[:16]


@lru_cache(maxsize=1)
def _meanings() -> tuple[Mapping[str, str], Mapping[str, str], Mapping[str, frozenset[str]]]:
    """The code of each file of meanings, the file of each operator, and the files that a file uses."""
    codes, places, uses = dict[str, str](), dict[str, str](), dict[str, frozenset[str]]()
    for file in files(MEANINGS).iterdir():
        if file.name.endswith(".py"):
            name = file.name.removesuffix(".py")
            codes[name] = _code(file.read_text(), annotations=False)
            tree = ast.parse(file.read_text())
            uses[name] = frozenset(
                module.removeprefix(f"{MEANINGS}.")
                for part in ast.walk(tree)
                if isinstance(part, ast.ImportFrom) and (module := part.module or "").startswith(MEANINGS)
            )
            places |= {
                str(part.args[0].value): name
                for part in ast.walk(tree)
                if isinstance(part, ast.Call) and isinstance(part.func, ast.Name) and part.func.id == "means"
                if part.args and isinstance(part.args[0], ast.Constant)
            }
    return codes, places, uses


def digest_of_meanings(operators: Iterable[str]) -> str:
    """A digest of what some operators mean: of their files and of those that these use."""
    codes, places, uses = _meanings()
    missing = sorted(set(operators) - places.keys())
    pending, found = [places[name] for name in operators if name in places], dict[str, str]()
    while pending:
        name = pending.pop()
        if name not in found:
            found[name] = codes[name]
            pending += uses[name] & codes.keys()
    return hashlib.sha256(repr((missing, sorted(found.items()))).encode()).hexdigest()[:16]


def stale(laws: Iterable[Law]) -> list[str]:
    """The laws whose answer is of another text, or that have none; all where the prover is another."""
    known = answers()
    if known["trusted"] != digest_of_prover():
        return sorted(law.key for law in laws)
    return sorted(law.key for law in laws if _is_stale(law, known["laws"].get(law.key)))


def _is_stale(law: Law, record: Mapping[str, Any] | None) -> bool:
    if record is None or record["text"] != digest_of(law):
        return True
    return bool(record["meanings"] != digest_of_meanings(record["operators"]))
