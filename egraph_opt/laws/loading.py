"""Files of laws that nobody packaged: `--load laws.py`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from egraph_opt.errors import LawError
from egraph_opt.graph.watching import ended_after
from egraph_opt.imports import LOADED, module_name, run_file
from egraph_opt.laws.checking import check, unused
from egraph_opt.laws.direction import check_named_laws
from egraph_opt.laws.law import Law, registered
from egraph_opt.laws.messages import LONGEST, Endless, told
from egraph_opt.laws.selection import all_laws
from egraph_opt.operators import declaration, expressions


def load_laws(path: str | Path) -> tuple[Law, ...]:
    """Run a file of laws and register what it declares, which replaces what it declared before.

    Returns:
        The laws of the file, whose rulesets are on by default from now on.

    Raises:
        LawError: there is no such file, it cannot be run, it declares no law, or one wrongly; the message
            names file and line, and nothing of the file stays registered.
    """
    file = Path(path)
    all_laws()
    name = module_name(file, LawError)
    laws = tuple(law for law in registered.values() if law.function.__module__ == name)
    if name in sys.modules and laws:
        return laws
    with _nothing_stays(name), ended_after(LONGEST, Endless):
        run_file(file, LawError, told)
        laws = tuple(law for law in registered.values() if law.function.__module__ == name)
        if not laws:
            raise LawError(f"{file}:1: declares no law")
        for law in laws:
            check(law)
            check_named_laws(law)
            for parameter in unused(law):
                line = law.function.__code__.co_firstlineno
                raise LawError(f"{file}:{line}: {law.key}: `{parameter}` is used nowhere")
    return laws


def is_loaded(entry: Law) -> bool:
    """Whether a law comes from a file of the user's."""
    return entry.function.__module__.startswith(LOADED)


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
