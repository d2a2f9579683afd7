"""Cost models by name: registered ones, classes in files and modules, their variants and parameters.

ascend                        registered by an entry point
ascend:910b4                  a variant of it
auto                          short for another name, see `SHORT`
ascend:./my310p.toml          with the parameters of a file
my_costs.py:Launches          a class in a file
my_package.costs:Launches     a class in a module
my_costs.py:Launches:my.toml  either may be followed by a variant or a file
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

from egraph_opt.cost.model import CostModel
from egraph_opt.cost.parameter_files import SUFFIX, read_values
from egraph_opt.cost.parameters import Override, Parameter, overrides_of, resolved
from egraph_opt.errors import CostModelError, EgraphOptError, UnknownCostModelError
from egraph_opt.imports import place_of, raised_at, run_file

SHORT = {"auto": "nodes:timed"}
"""Names for others: few nodes are found in a second, and the clock says whether they are faster here."""

GROUP = "egraph_opt.cost_models"
"""The entry-point group that cost models, the built-in ones too, are registered in."""


@lru_cache(maxsize=1)
def cost_models() -> Mapping[str, EntryPoint]:
    """All registered cost models by name, sorted; the built-in one where somebody registers its name too.

    Looked for once in a process, as rulesets are.
    """
    found: dict[str, EntryPoint] = {}
    for entry in sorted(entry_points(group=GROUP), key=lambda e: (e.name, e.value)):
        if entry.name not in found or entry.value.startswith(f"{GROUP}."):
            found[entry.name] = entry
    return found


def cost_model(
    name: str | CostModel, parameters: Mapping[str, object] | Iterable[Override] | None = None
) -> CostModel:
    """The cost model of a name, with parameters of its own; a model is itself.

    Args:
        name: such as ``"flops"``, ``"ascend:910b4"``, ``"ascend:./my310p.toml"``, ``"my_costs.py:Launches"``,
            ``"my_package.costs:Launches"``.
        parameters: values by name; of a table a mapping, or an entry as ``{"vector_cycles.Add": 0.02}``.

    Raises:
        UnknownCostModelError: no such model or variant is registered; suggests the nearest name.
        CostModelError: a file cannot be read or run, a class is no cost model or cannot be made.
        UnknownParameterError, ParameterError: no such parameter, or a value that it cannot have.
    """
    if isinstance(name, CostModel):
        if parameters:
            raise CostModelError(f"{name.name!r} is made already: give its parameters to its class")
        return name
    given = overrides_of(parameters) if isinstance(parameters, Mapping) else tuple(parameters or ())
    return named(name).make(given)


def parameters_of(name: str, overrides: Iterable[Override] = ()) -> dict[str, Parameter]:
    """All parameters of the cost model of a name, as a file and overrides leave them.

    Raises:
        As `cost_model`.
    """
    wanted = named(name)
    return {**wanted.declared(), **wanted.changed(tuple(overrides))}


@dataclass(frozen=True)
class Named:
    """What a name stands for.

    Attributes:
        factory: the class, or a function that makes the model.
        base: the name without what follows it.
        variant: handed to the factory, unless it is "".
        overrides: what a file says of the parameters.
        place: the file of the class, for errors; None where it is registered.
    """

    factory: Callable[..., object]
    base: str
    variant: str = ""
    overrides: tuple[Override, ...] = ()
    place: Path | None = None

    def declared(self) -> Mapping[str, Parameter]:
        """The parameters of the variant."""
        declared = getattr(self.factory, "declared_parameters", None)
        return {} if declared is None else declared(self.variant)

    def changed(self, overrides: tuple[Override, ...]) -> dict[str, Parameter]:
        """The parameters that the file and some overrides change."""
        given = (*self.overrides, *overrides)
        return resolved(self.declared(), given, self.base) if given else {}

    def make(self, overrides: tuple[Override, ...] = ()) -> CostModel:
        """The cost model.

        Raises:
            CostModelError: its constructor fails, or makes something else; the message names the line.
        """
        values = {name: entry.value for name, entry in self.changed(overrides).items()}
        variant = (self.variant,) if self.variant else ()
        try:
            model = self.factory(*variant, **values)
        except EgraphOptError:
            raise
        except (Exception, SystemExit) as error:
            told = f"{type(error).__name__}: {error}"
            raise CostModelError(f"{self._place(error)}{self.base} cannot be made: {told}") from error
        if not isinstance(model, CostModel):
            raise CostModelError(f"{self.base}: {NO_MODEL}")
        for attribute in ("name", "unit"):
            if not isinstance(getattr(model, attribute, None), str):
                raise CostModelError(f"{self._place(None)}{self.base} has no text as `{attribute}`")
        for attribute, fits, form in _FORMS:
            if not fits(getattr(model, attribute)):
                raise CostModelError(f"{self._place(None)}{self.base}: `{attribute}` is no {form}")
        return model

    def _place(self, error: BaseException | None) -> str:
        """The line of the user's file where it went wrong; that of the class where it was elsewhere."""
        if self.place is None:
            return ""
        place = str(self.place) if error is None else place_of(self.place, error)
        return f"{place if place != str(self.place) else _line_of(self.factory, self.place)}: "


def _are_names(given: object) -> bool:
    return isinstance(given, (tuple, list, set, frozenset)) and all(isinstance(n, str) for n in given)


def _are_limits(given: object) -> bool:
    return (
        isinstance(given, Mapping)
        and all(isinstance(v, int) for v in given.values())
        and _are_names([*given])
    )


_FORMS: tuple[tuple[str, Callable[[object], bool], str], ...] = (
    ("rulesets", _are_names, "tuple of names"),
    ("pseudo_operators", _are_names, "set of names"),
    ("limits", _are_limits, "dictionary of whole numbers by name"),
)
"""What the attributes of a cost model have to be."""

NO_MODEL = "is no cost model, which is a subclass of egraph_opt.CostModel"


def named(name: object) -> Named:
    """What a name stands for.

    Raises:
        As `cost_model`.
    """
    if not isinstance(name, str):
        hint = f": give an object of it, {name.__name__}()" if isinstance(name, type) else ""
        raise CostModelError(f"{name!r} is neither a cost model nor the name of one{hint}")
    name = SHORT.get(name, name)
    file, is_file, rest = name.rpartition(".py:")
    first, colon, rest = (f"{file}.py", ":", rest) if is_file else name.partition(":")
    if not is_file and first in cost_models():
        return _with_variant(Named(cost_models()[first].load(), first), rest if colon else None)
    if not is_file and not (colon and _is_module(first)):
        if first.endswith(SUFFIX):
            raise CostModelError(f"{name}: a file of parameters follows its cost model: ascend:{name}")
        raise UnknownCostModelError(first, [*cost_models(), *SHORT])
    wanted, colon, variant = rest.partition(":")
    module = run_file(Path(first), CostModelError) if is_file else _imported(first)
    place = Path(first if is_file else module.__file__ or first)
    found = Named(_class_in(module, wanted, place), f"{first}:{wanted}", place=place)
    return _with_variant(found, variant if colon else None)


def _with_variant(found: Named, variant: str | None) -> Named:
    """The model with what follows its name: a variant, or a file of parameters."""
    if variant is None:
        return found
    if variant.endswith(SUFFIX):
        values = read_values(Path(variant), found.declared())
        if values.variant:
            _check_variant(found, values.variant, values.origin)
        return replace(found, variant=values.variant, overrides=values.overrides)
    _check_variant(found, variant)
    return replace(found, variant=variant)


def _check_variant(found: Named, variant: str, where: str = "") -> None:
    variants: tuple[str, ...] = getattr(found.factory, "variants", tuple)()
    if variant not in variants:
        known = [found.base, *(f"{found.base}:{entry}" for entry in variants)]
        raise UnknownCostModelError(f"{found.base}:{variant}", known, where)


def _is_module(name: str) -> bool:
    """Whether `a.b` can be meant for a module: something dotted, or one that there is."""
    if not all(part.isidentifier() for part in name.split(".")):
        return False
    return "." in name or name in sys.modules or find_spec(name) is not None


def _imported(name: str) -> ModuleType:
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        raise CostModelError(f"{name}: there is no module {error.name!r}") from None
    except (Exception, SystemExit) as error:
        raise CostModelError(f"{raised_at(error)}: {type(error).__name__}: {error}") from error


def _class_in(module: ModuleType, name: str, place: Path) -> type[CostModel]:
    """The cost model of a name that a module defines.

    Raises:
        UnknownCostModelError: it defines nothing of the name; suggests the nearest.
        CostModelError: what it defines is no cost model.
    """
    defined = {
        key: value
        for key, value in vars(module).items()
        if isinstance(value, type) and value.__module__ == module.__name__
    }
    found: Any = vars(module).get(name)
    if found is None:
        models = [key for key, value in defined.items() if issubclass(value, CostModel)]
        raise UnknownCostModelError(name, models or defined, str(place))
    if not isinstance(found, type) or not issubclass(found, CostModel):
        raise CostModelError(f"{_line_of(found, place)}: {name} {NO_MODEL}")
    return found


def _line_of(found: object, place: Path) -> str:
    """Where in a file something is defined, as far as that is known."""
    try:
        file, (_, line) = inspect.getsourcefile(found), inspect.getsourcelines(found)  # type: ignore[arg-type]
        return f"{file}:{line}"
    except (TypeError, OSError):
        return str(place)
