"""What a law of a file is made of, as a digest that is another one wherever the law may be another one.

It is the text of its file, of the user's modules that this imports, and of whatever files and plug-ins were
loaded before: where these texts compute from nothing else, they make the same law again.  Where one of them
may read a file, the environment, the clock or chance, or imports what may, there is no digest.
"""

from __future__ import annotations

import ast
import hashlib
import sys
import sysconfig
from collections.abc import Iterator
from functools import lru_cache
from importlib.util import find_spec, resolve_name
from pathlib import Path
from types import ModuleType

from egraph_opt.errors import EgraphOptError, LawError
from egraph_opt.imports import LOADED, module_name
from egraph_opt.laws.law import Law, registered
from egraph_opt.laws.selection import plug_ins

ENGINE = frozenset("check errors facts inference laws operators rewrites semantics".split())
"""Packages of ours that laws are written with; what else there is reads models, and measures."""

VERSIONED = frozenset("ml_dtypes numpy onnx".split())
"""Packages that are what their version says."""

PURE = frozenset(
    "__future__ abc bisect cmath collections copy dataclasses decimal enum fractions functools heapq"
    " itertools math numbers operator re statistics string struct textwrap typing".split()
)
"""Modules of Python's library that only compute."""

_SEEING = frozenset("__import__ breakpoint compile dir eval exec globals hash id input locals vars".split())
"""Functions that see more than is written, or what differs from process to process."""

_READING = frozenset(
    "environ fromfile fromregex genfromtxt getenv load load_model load_tensor loadtxt memmap open open_memmap"
    " read_bytes read_text".split()
)
"""What reads files or the environment, by whatever it hangs on."""

_SEEDED = frozenset({"Generator", "default_rng"})
"""Of numpy.random: what draws only from the seed that it is given."""


class Unseen(Exception):
    """There may be more to a law than its text; says what."""


def digest_of_sources_of(law: Law) -> str:
    """A digest of all that decides what a law of a file states; comments and other laws of the file do not.

    Raises:
        Unseen: something may decide it that is no text.
    """
    if registered.get(law.key) is not law:
        raise Unseen("it is not the law that is registered")
    first = law.function.__module__
    others = [registered[key].function.__module__ for key in law.required if key in registered]
    pending = [name for name in sys.modules if name.startswith(LOADED)] + [*plug_ins(), *others, first]
    texts = dict[str, str]()
    while pending:
        name = pending.pop()
        if name not in texts and not _is_known(name):
            module = _module(name)
            tree = _tree(module) if getattr(module, "__file__", None) else ast.Module([], [])
            pending += [*_parents(name), *_imports(tree, module)]
            own = tree if name != first else ast.Module(_without_others(law, tree), [])
            place = Path(str(module.__file__)).resolve() if name.startswith(LOADED) else name
            texts[name] = f"{place}: {ast.dump(own)}"
    return hashlib.sha256(repr((law.key, list(texts.values()))).encode()).hexdigest()


def _is_known(name: str) -> bool:
    """Whether a version, or a digest of our own code, says all of a module."""
    top, _, rest = name.partition(".")
    if top == "egraph_opt":
        if rest.split(".")[0] not in ENGINE:
            raise Unseen(f"it imports {name}")
        return True
    if top in VERSIONED:
        return True
    if top in sys.stdlib_module_names and _is_of_python(top):
        if top not in PURE:
            raise Unseen(f"it imports {name}")
        return True
    return False


def _is_of_python(name: str) -> bool:
    """Whether a module is Python's own, and no file of the user's that has its name."""
    try:
        spec = find_spec(name)
    except (ImportError, ValueError):
        return False
    if spec is None or spec.origin in (None, "built-in", "frozen"):
        return spec is not None
    path = Path(str(spec.origin))
    return path.is_relative_to(sysconfig.get_path("stdlib")) and "site-packages" not in path.parts


def _module(name: str) -> ModuleType:
    module = sys.modules.get(name)
    if module is None:
        raise Unseen(f"it imports {name} later, or not everywhere")
    file = getattr(module, "__file__", None)
    if not (file.endswith(".py") if file else hasattr(module, "__path__")):
        raise Unseen(f"{name} has no source")
    return module


@lru_cache(maxsize=256)  # by module: what was written after it was imported does not run
def _tree(module: ModuleType) -> ast.Module:
    """The text of a module, which only computes."""
    path = Path(str(module.__file__))
    try:
        if module.__name__.startswith(LOADED) and module_name(path, LawError) != module.__name__:
            raise Unseen(f"{path} has changed since")
        tree = ast.parse(path.read_bytes())
    except (OSError, ValueError, SyntaxError, RecursionError, EgraphOptError) as error:
        raise Unseen(f"{path} cannot be read: {error}") from error
    for node in ast.walk(tree):
        if seen := _more_than_text(node):
            raise Unseen(f"{path}:{getattr(node, 'lineno', 1)}: {seen}")
    return tree


def _more_than_text(node: ast.AST) -> str:
    """What a node may compute from, other than what is written; nothing of most."""
    match node:
        case ast.Name(id=name) if name in _SEEING | _READING:
            return name
        case ast.Attribute(value=ast.Attribute(attr="random", value=ast.Name()), attr=name):
            return "" if name in _SEEDED else f"random.{name}"
        case ast.Attribute(attr=name) if name in _READING:
            return name
        case ast.Call(func=ast.Attribute(attr="default_rng"), args=[], keywords=[]):
            return "default_rng() without a seed"
        case ast.Import(names=names):
            drawing = [each.name for each in names if each.name.startswith("numpy.random")]
            return drawing[0] if drawing else ""
        case ast.ImportFrom(module=module, names=names):
            hidden = [each.name for each in names if each.name in _READING | {"random"}]
            return "numpy.random" if str(module).startswith("numpy.random") else ", ".join(hidden)
    return ""


def _parents(name: str) -> Iterator[str]:
    """The packages that a module is in, which are run before it."""
    while "." in name:
        name = name.rpartition(".")[0]
        yield name


def _imports(tree: ast.Module, module: ModuleType) -> Iterator[str]:
    """What a module imports, wherever it does."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom):
            package = str(module.__package__ or "")
            source = resolve_name("." * node.level + (node.module or ""), package)
            inner = [f"{source}.{each.name}" for each in node.names]
            if source == "egraph_opt":
                yield from inner
            else:
                yield source
                yield from (name for name in inner if name in sys.modules)


def _without_others(law: Law, tree: ast.Module) -> list[ast.stmt]:
    """The file of a law without the other laws that are declared there, if nothing there names one."""
    own = law.function.__code__.co_firstlineno
    if law.required:
        return tree.body
    lines = {
        other.function.__code__.co_firstlineno: other.name
        for other in registered.values()
        if other.function.__module__ == law.function.__module__
    }
    lines.pop(own, None)
    rest = [node for node in tree.body if not _is_law_at(node, lines)]
    named = {node.id for part in rest for node in ast.walk(part) if isinstance(node, ast.Name)}
    said = {
        str(node.value).rpartition(".")[2]
        for part in rest
        for node in ast.walk(part)
        if isinstance(node, ast.Constant)
    }
    return tree.body if (named | said) & set(lines.values()) else rest


def _is_law_at(node: ast.stmt, lines: dict[int, str]) -> bool:
    """Whether a function is one of the laws that begin on these lines, and nothing else."""
    if not isinstance(node, ast.FunctionDef) or len(node.decorator_list) != 1:
        return False
    return lines.get(node.decorator_list[0].lineno) == node.name
