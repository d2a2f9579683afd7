"""How heavy dependencies are imported: when something of them is first used, and without what we never use.

    from egraph_opt.imports import onnx_ir as ir

`onnx_ir` and `onnxruntime` are stood in for, in modules that commands load which need neither: `costs` and
`rules` wait for no runtime.  onnx_ir itself brings sympy, for arithmetic on symbolic dims that we do in
`facts.symbolic`; that would be a third of the time in which `egraph-opt optimize` starts, so it is stood in
for in turn.  egglog's Python interface, which brings black and IPython, is left out: we only write programs.

Files of users are run as modules (`run_file`), and leave nothing beside them.
"""

from __future__ import annotations

import hashlib
import os
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.machinery import PathFinder, SourceFileLoader
from importlib.util import find_spec, module_from_spec, spec_from_loader
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, NoReturn

from egraph_opt.errors import EgraphOptError

LOADED = "egraph_opt_loaded_"
"""What the names of modules begin with that are files."""


class _Deferred(ModuleType):
    """Stands for a module, which is imported when something of it is first used."""

    def __init__(self, name: str, load: Callable[[str], ModuleType] = import_module) -> None:
        super().__init__(name)
        self._load = load

    def __getattr__(self, name: str) -> Any:
        if sys.modules.get(self.__name__) is self:  # used while it stands in, see `_standing_in`
            del sys.modules[self.__name__]
        found = getattr(self._load(self.__name__), name)
        setattr(self, name, found)
        return found


@contextmanager
def _standing_in(*names: str) -> Iterator[None]:
    """Whoever imports these modules meanwhile gets what stands for them; nobody else does afterwards."""
    placed = {name: _Deferred(name) for name in names if name not in sys.modules}
    sys.modules.update(placed)
    try:
        yield
    finally:
        for name, module in placed.items():
            if sys.modules.get(name) is module:
                del sys.modules[name]


def load_onnx_ir(name: str = "onnx_ir") -> ModuleType:
    """Import onnx_ir without sympy, unless somebody has imported either."""
    if name in sys.modules:
        return import_module(name)
    with _standing_in("sympy", "onnx_ir._symbolic_shapes"):  # the one module that uses sympy on import
        return import_module(name)


@contextmanager
def _environment(**variables: str) -> Iterator[None]:
    """Within this context variables of the environment have other values, for whoever reads them."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def load_bindings(name: str = "egglog.bindings") -> ModuleType:
    """The compiled half of egglog alone, which is the same module wherever and however often it is loaded.

    Where it is loaded here first, its rules run in the thread that asks.  It starts its pool of threads when
    it is loaded, and with more than one of them the order of what large e-graphs hold is that of a race.
    """
    if name in sys.modules:
        return sys.modules[name]
    package = find_spec("egglog")  # of the package: found, and not imported
    found = PathFinder.find_spec(name, package.submodule_search_locations if package else None)
    if found is None or found.loader is None:
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)
    with _environment(RAYON_NUM_THREADS="1"):
        module = module_from_spec(found)
        found.loader.exec_module(module)
    sys.modules.pop(name, None)  # so that `import egglog` makes it an attribute of the package, as ever
    return module


def _type_and_text(error: BaseException) -> str:
    if isinstance(error, EgraphOptError):
        return str(error)
    return f"{type(error).__name__}: {error.msg if isinstance(error, SyntaxError) else error}"


def run_file(
    file: Path, failure: type[EgraphOptError], told: Callable[[BaseException], str] = _type_and_text
) -> ModuleType:
    """Run a Python file as a module of its own, once for each content.

    Args:
        failure: what is raised where it cannot be read, does not parse, or raises; the message names file
            and line.
        told: what it says of an exception.
    """
    name = module_name(file, failure)
    if name in sys.modules:
        return sys.modules[name]
    spec = spec_from_loader(name, _Uncached(name, str(file)))
    if spec is None or spec.loader is None:
        raise failure(f"{file}: is no Python file")
    module = module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException as error:
        del sys.modules[name]
        if isinstance(error, KeyboardInterrupt):
            raise
        if isinstance(error, EgraphOptError) and f"{file}:" in str(error):
            raise
        raise failure(f"{place_of(file, error)}: {told(error)}") from error
    return module


def module_name(file: Path, failure: type[EgraphOptError]) -> str:
    """What a file is imported as: by content, so that two versions can both be pickled by reference."""
    try:
        content = file.read_bytes()
    except OSError as error:
        raise failure(f"{file}: cannot be read: {error.strerror or error}") from error
    digest = hashlib.sha256(str(file.resolve()).encode() + content).hexdigest()[:12]
    return f"{LOADED}{digest}"


class _Uncached(SourceFileLoader):
    """Compiles a file whenever it is run: no `__pycache__` in the user's folder, and none believed."""

    def path_stats(self, path: str) -> NoReturn:
        raise OSError(f"{path}: is not cached")


def place_of(file: Path, error: BaseException) -> str:
    """File and line, as far as it is known, where in a file an exception was raised."""
    if isinstance(error, SyntaxError):
        return f"{file}:{error.lineno or 1}"
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame.lineno for frame in frames if Path(frame.filename).resolve() == file.resolve()]
    return f"{file}:{own[-1]}" if own else str(file)


def raised_at(error: BaseException) -> str:
    """File and line where an exception was raised."""
    if isinstance(error, SyntaxError):
        return f"{error.filename}:{error.lineno or 1}"
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{last.filename}:{last.lineno}"


if TYPE_CHECKING:
    import onnx_ir
    import onnxruntime
    from egglog import bindings
else:
    onnx_ir = _Deferred("onnx_ir", load_onnx_ir)
    onnxruntime = _Deferred("onnxruntime")
    bindings = _Deferred("egglog.bindings", load_bindings)

__all__ = [
    "LOADED",
    "bindings",
    "load_bindings",
    "load_onnx_ir",
    "module_name",
    "onnx_ir",
    "onnxruntime",
    "place_of",
    "raised_at",
    "run_file",
]
