"""What a search found, as a file of parameters."""

from __future__ import annotations

from pathlib import Path

from egraph_opt.calibration.writing import ParameterFile, base_of, table_of
from egraph_opt.tuning.search import Tuning


def write_tuning(found: Tuning, output: Path) -> None:
    """Write the parameters under which graphs run faster; they are inferred from that, and measured as such.

    Raises:
        OutputError: it cannot be written.
    """
    names = ", ".join(model.name for model in found.models)
    heading = (
        f"{found.request.cost} tuned on {names}: {found.trials} trials.",
        f"What it chooses runs {found.gain:.3g} times as fast in onnxruntime as what was chosen before.",
    )
    told = {
        name: f"{name.partition('.')[2] or name} was {before:g}" for name, before in found.defaults.items()
    }
    sources: dict[str, str] = {}
    for name, text in told.items():
        known = sources.get(table_of(name), f"graphs {found.gain:.3g} times as fast on {names}")
        sources[table_of(name)] = f"{known}; {text}"
    base = base_of(found.request.cost, output)
    ParameterFile(heading, base, found.request.held, found.values, "I", sources, found.kept).write(output)
