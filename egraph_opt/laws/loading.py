"""Files of laws and of cost models that nobody packaged: `--load laws.py`, `--cost costs.py:Launches`."""

from __future__ import annotations

import hashlib
import importlib.util
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

from egraph_opt.errors import LawError
from egraph_opt.laws.checking import check, unused
from egraph_opt.laws.law import Law, registered, told
from egraph_opt.laws.selection import all_laws
from egraph_opt.operators import declaration, expressions

_LOADED = "egraph_opt_loaded_"
"""What the names of modules begin with that are files."""


def load_laws(path: str | Path) -> tuple[Law, ...]:
    """Run a file of laws and register what it declares, in the place of what it declared before.

    Returns:
        The laws of the file, whose rulesets are on by default from now on.

    Raises:
        LawError: there is no such file, it cannot be run, it declares no law, or one wrongly; the message
            names file and line, and nothing of the file stays registered.
    """
    file = Path(path)
    all_laws()
    name = module_name(file)
    laws = tuple(law for law in registered.values() if law.function.__module__ == name)
    if name in sys.modules and laws:
        return laws
    with _nothing_stays(name):
        run_file(file)
        laws = tuple(law for law in registered.values() if law.function.__module__ == name)
        if not laws:
            raise LawError(f"{file}:1: declares no law")
        for law in laws:
            check(law)
            for parameter in unused(law):
                line = law.function.__code__.co_firstlineno
                raise LawError(f"{file}:{line}: {law.key}: `{parameter}` is used nowhere")
    return laws


def module_name(file: Path) -> str:
    """What a file is imported as: by content, so that two versions can both be pickled by reference."""
    try:
        content = file.read_bytes()
    except OSError as error:
        raise LawError(f"{file}: cannot be read: {error.strerror or error}") from error
    digest = hashlib.sha256(str(file.resolve()).encode() + content).hexdigest()[:12]
    return f"{_LOADED}{digest}"


def is_loaded(entry: Law) -> bool:
    """Whether a law comes from a file of the user's."""
    return entry.function.__module__.startswith(_LOADED)


def run_file(file: Path) -> ModuleType:
    """Run a Python file as a module of its own.

    Raises:
        LawError: it cannot be read, does not parse, or raises; the message names file and line.
    """
    name = module_name(file)
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise LawError(f"{file}: is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException as error:
        del sys.modules[name]
        if isinstance(error, KeyboardInterrupt):
            raise
        if isinstance(error, LawError) and f"{file}:" in str(error):
            raise
        raise LawError(f"{_place(file, error)}: {told(error)}") from error
    return module


def _place(file: Path, error: BaseException) -> str:
    if isinstance(error, SyntaxError):
        return f"{file}:{error.lineno or 1}"
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame.lineno for frame in frames if Path(frame.filename).resolve() == file.resolve()]
    return f"{file}:{own[-1]}" if own else str(file)


@contextmanager
def _nothing_stays(name: str) -> Iterator[None]:
    """Where a file fails, what it registered is taken back."""
    kept = [dict(table) for table in _registries()]
    try:
        yield
    except BaseException:
        sys.modules.pop(name, None)
        for table, before in zip(_registries(), kept, strict=True):
            table.clear()
            table.update(before)
        raise


def _registries() -> tuple[dict[str, object], ...]:
    return (  # type: ignore[return-value]
        registered,
        declaration.declared_operators,
        declaration.lowerings,
        expressions.declared_functions,
    )
