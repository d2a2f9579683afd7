"""How heavy dependencies are imported: when something of them is first used, and without what we never use.

    from egraph_opt.imports import onnx_ir as ir

`onnx_ir` and `onnxruntime` are stood in for, in modules that commands load which need neither: `costs` and
`rules` wait for no runtime.  onnx_ir itself brings sympy, for arithmetic on symbolic dims that we do in
`facts.symbolic`; that would be a third of the time in which `egraph-opt optimize` starts, so it is stood in
for in turn.  egglog's Python interface, which brings black and IPython, is left out: we only write programs.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.machinery import PathFinder
from importlib.util import find_spec, module_from_spec
from types import ModuleType
from typing import TYPE_CHECKING, Any


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


def load_bindings(name: str = "egglog.bindings") -> ModuleType:
    """The compiled half of egglog alone, which is the same module wherever and however often it is loaded."""
    if name in sys.modules:
        return sys.modules[name]
    package = find_spec("egglog")  # of the package: found, and not imported
    found = PathFinder.find_spec(name, package.submodule_search_locations if package else None)
    if found is None or found.loader is None:
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)
    module = module_from_spec(found)
    found.loader.exec_module(module)
    sys.modules.pop(name, None)  # so that `import egglog` makes it an attribute of the package, as ever
    return module


if TYPE_CHECKING:
    import onnx_ir
    import onnxruntime
    from egglog import bindings
else:
    onnx_ir = _Deferred("onnx_ir", load_onnx_ir)
    onnxruntime = _Deferred("onnxruntime")
    bindings = _Deferred("egglog.bindings", load_bindings)

__all__ = ["bindings", "load_bindings", "load_onnx_ir", "onnx_ir", "onnxruntime"]
