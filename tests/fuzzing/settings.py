"""How one graph is optimised: cost model, rulesets, limits, extractor and objective, drawn at random."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import onnx

from egraph_opt import Limits, optimize
from egraph_opt.cost.model import CostModel, NodeView
from egraph_opt.laws.exactness import Exactness
from egraph_opt.pipeline.result import Result

COSTS = (
    *("nodes", "flops", "bytes", "ascend") * 4,
    *("ascend:310", "ascend:310p3", "ascend:910a", "ascend:910b1", "ascend:910b4"),
    *("onnxruntime", "onnxruntime:2"),
)
"""Names of cost models; those that take long to saturate for less often."""

SELECTIONS: tuple[tuple[str, ...] | None, ...] = (
    *(None,) * 12,
    ("default", "approximate"),
    ("default", "assume"),
    ("default", "legalize"),
    ("default", "onnxruntime.layout", "onnxruntime.operators", "onnxruntime.spelling"),
    ("default", "ascend.fusion", "ascend.vector", "composites.primitives"),
    ("-elementwise", "-constants"),
    ("slice", "concat", "split", "gather", "transpose", "reshape", "expand"),
    ("convolution", "batchnorm", "padding", "pooling", "elementwise"),
    ("matmul", "gemm", "associativity", "distributivity", "reduction"),
)
"""What rulesets are asked for.  An engine is built for each, so that there are a few and no random subsets."""

EXTRACTORS = (*("auto",) * 12, "draft", "exact", "ilp", "greedy-dag", "tree")

EXACTNESSES: tuple[Exactness, ...] = ("real", "real", "finite", "bitwise")

HASH = "hash:"
"""What the name of a cost model drawn at random begins with; its seed follows."""


class HashCost(CostModel):
    """A price drawn at random for every different node, so that any side of a law may be the cheapest."""

    name = "hash"
    unit = "lots"

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def cost(self, node: NodeView) -> float:
        facts = [(f.dtype, f.shape) for f in node.inputs if f is not None]
        key = (self.seed, node.op_type, sorted(node.attributes.items(), key=repr), facts)
        of_operator = zlib.crc32(repr((self.seed, node.op_type)).encode()) / 2**32
        return float((zlib.crc32(repr(key).encode()) / 2**32) ** 2 + of_operator**2 + 0.001 + node.body_cost)


@dataclass(frozen=True)
class Setting:
    """What `optimize` is called with besides the model.

    Attributes:
        cost: the name of a cost model, or `hash:` and a number.
        limits: those that are not the usual ones.
    """

    cost: str = "nodes"
    rewrites: tuple[str, ...] | None = None
    limits: Mapping[str, float] = field(default_factory=dict)
    extractor: str = "auto"
    objective: str = "cost"
    verify: bool = False
    strict: bool = True
    seed: int = 0
    exactness: Exactness = "real"

    @property
    def approximate(self) -> bool:
        """Whether values may change."""
        return "approximate" in (self.rewrites or ())

    @property
    def is_by_lot(self) -> bool:
        """Whether prices are drawn at random."""
        return self.cost.startswith(HASH)

    @property
    def legalizes(self) -> bool:
        """Whether the result may leave the standard."""
        return "legalize" in (self.rewrites or ())

    def priced(self) -> str | CostModel:
        return HashCost(int(self.cost.removeprefix(HASH))) if self.is_by_lot else self.cost

    def run(self, model: onnx.ModelProto) -> Result:
        """The model optimised; nothing is timed, which would make the result another one every time."""
        return optimize(
            model,
            self.priced(),
            rewrites=self.rewrites,
            limits=Limits(**self.limits),  # type: ignore[arg-type]
            extractor=self.extractor,
            objective=self.objective,
            verify=self.verify,
            strict=self.strict,
            seed=self.seed,
            exactness=self.exactness,
            measure=False,
        )

    def told(self) -> dict[str, Any]:
        """What is not as usual, as keyword arguments."""
        usual = asdict(Setting())
        return {key: value for key, value in asdict(self).items() if value != usual[key]}


def draw_setting(rng: np.random.Generator) -> Setting:
    """A random setting: most as people use it, some at the edges."""

    def one_of(items: Any) -> Any:
        return items[int(rng.integers(len(items)))]

    cost = f"{HASH}{rng.integers(10**6)}" if rng.random() < 0.3 else one_of(COSTS)
    rewrites = one_of(SELECTIONS)
    return Setting(
        cost=cost,
        rewrites=rewrites,
        limits=_limits(rng, one_of),
        extractor=one_of(EXTRACTORS),
        objective="memory" if rng.random() < 0.1 else "cost",
        verify=bool(rng.random() < 0.25),
        strict=bool(rng.random() < 0.7),
        seed=int(rng.integers(1000)),
        # Of rulesets that are named nothing may be left.
        exactness="real" if rewrites is not None else one_of(EXACTNESSES),
    )


def _limits(rng: np.random.Generator, one_of: Any) -> dict[str, float]:
    if rng.random() < 0.7:
        return {}
    drawn = {
        "nodes": one_of((1, 20, 60, 150, 500)),
        "rounds": one_of((1, 2, 3, 5)),
        "solver_iterations": one_of((1, 3)),
        "fold_bytes": one_of((1, 64, 1024)),
        "seconds": one_of((0, 0.02, 0.1, 0.3, 1.0)),
    }
    chosen = [name for name in drawn if rng.random() < 0.35]
    return {name: drawn[name] for name in chosen}
