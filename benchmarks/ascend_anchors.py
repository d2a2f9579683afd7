"""Whole networks under `ascend` against throughputs that were measured on chips.

    python benchmarks/ascend_anchors.py [NAME ...] [--set PARAMETER=VALUE ...] [--json FILE]

Each network is built as an ONNX graph and priced as the chip's compiler runs it: nothing is rewritten but
what the target's own rulesets do, with the options that its README gives to the compiler.  Measured are
frames a second of the READMEs of Ascend/ModelZoo-PyTorch (ACL_PyTorch), those of ViT of its performances.md
(commit ddb86ab2).  Ratios are predicted over measured throughput: below 1 the model is pessimistic.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from anchor_networks import NETWORKS

from egraph_opt import optimize
from egraph_opt.cost.registry import cost_model


@dataclass(frozen=True)
class Anchor:
    """A measurement.

    Attributes:
        rate: samples a second.
        held_out: no parameter may be fitted to it.
        options: parameters of the model that the options given to the compiler are.
    """

    network: str
    soc: str
    batch: int
    rate: float
    held_out: bool = False
    options: Mapping[str, object] = field(default_factory=dict)

    @property
    def micros(self) -> float:
        """Of one run of the batch."""
        return self.batch * 1e6 / self.rate


FAST: Mapping[str, object] = {"op_select_implmode": "high_performance"}
"""`--op_select_implmode=high_performance --optypelist_for_implmode=Gelu`."""

ANCHORS = (
    Anchor("ResNet50", "310p3", 64, 4250),  # uint8 images through the pre-processor, small channels
    Anchor("ResNeXt101-32x8d", "310p3", 8, 1251),
    Anchor("MobileNetV1", "310p3", 32, 16124, held_out=True),
    Anchor("MobileNetV2", "310p3", 4, 7072),
    Anchor("MobileNetV2", "310b1", 4, 1488),
    Anchor("VGG16", "310p3", 16, 1567),
    Anchor("C3D", "310p3", 1, 45.7),
    Anchor("C3D", "310p3", 8, 56.3),
    Anchor("Albert-base", "310p3", 1, 763, options=FAST),
    Anchor("Albert-base", "310p3", 4, 1148, options=FAST),
    Anchor("Albert-base", "310p3", 8, 1321, options=FAST),
    Anchor("Albert-base", "310p3", 16, 1350, options=FAST),
    Anchor("Albert-base", "310", 1, 231, options=FAST),
    Anchor("Albert-base", "310", 16, 301, options=FAST),
    Anchor("ViT-B/16", "310p3", 1, 342.34, held_out=True, options=FAST),
    Anchor("ViT-B/16", "310p3", 32, 599.02, held_out=True, options=FAST),
    Anchor("ViT-B/32", "310p3", 1, 431.89, held_out=True, options=FAST),
    Anchor("ViT-B/32", "310p3", 64, 1679.63, held_out=True, options=FAST),
    Anchor("ViT-B/16-384", "310p3", 8, 151.01, held_out=True, options=FAST),
    Anchor("ECAPA-TDNN", "310p3", 1, 981),
    Anchor("ECAPA-TDNN", "310p3", 4, 1654),
    Anchor("ECAPA-TDNN", "310p3", 8, 1461),
    Anchor("ECAPA-TDNN", "310p3", 64, 1238),
)


@dataclass(frozen=True)
class Prediction:
    """What the model says of an anchor, in microseconds a run."""

    anchor: Anchor
    predicted: float

    @property
    def ratio(self) -> float:
        """Predicted over measured throughput: below 1 the model is pessimistic."""
        return self.anchor.micros / self.predicted


def predict(anchor: Anchor, parameters: dict[str, object]) -> Prediction:
    """The price of the network as the chip's compiler runs it."""
    model = cost_model(f"ascend:{anchor.soc}", {**anchor.options, **parameters})
    report = optimize(NETWORKS[anchor.network](anchor.batch), cost=model, rewrites=[], verify=False).report
    return Prediction(anchor, report.cost.before)


def mean_ratio(predictions: Iterable[Prediction]) -> float:
    """The geometric mean of the ratios."""
    logarithms = [math.log(entry.ratio) for entry in predictions]
    return math.exp(math.fsum(logarithms) / len(logarithms))


def table(predictions: Sequence[Prediction]) -> str:
    """A row for each anchor, and the means."""
    rows = ["network             chip   batch  measured us  predicted us  ratio"]
    for entry in predictions:
        anchor, mark = entry.anchor, "  held out" if entry.anchor.held_out else ""
        head = f"{anchor.network:<18}  {anchor.soc:<6} {anchor.batch:>5}"
        rows.append(f"{head}  {anchor.micros:>11.0f}  {entry.predicted:>12.0f}  {entry.ratio:>5.2f}{mark}")
    by_network: dict[str, list[Prediction]] = {}
    for entry in predictions:
        by_network.setdefault(entry.anchor.network, []).append(entry)
    each = [math.log(mean_ratio(entries)) for entries in by_network.values()]
    rows.append(f"geometric mean of {len(predictions)}: {mean_ratio(predictions):.2f}")
    rows.append(f"geometric mean of {len(each)} networks: {math.exp(math.fsum(each) / len(each)):.2f}")
    return "\n".join(rows)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(NETWORKS)}")
    parser.add_argument("--set", action="append", default=[], metavar="PARAMETER=VALUE")
    parser.add_argument("--json", type=Path, metavar="FILE")
    options = parser.parse_args()
    unknown = set(options.names) - set(NETWORKS)
    if unknown:
        parser.error(f"no network is called {', '.join(sorted(unknown))}: there are {', '.join(NETWORKS)}")
    given = dict(text.split("=", 1) for text in options.set)
    parameters = {name: json.loads(value) for name, value in given.items()}
    chosen = [anchor for anchor in ANCHORS if not options.names or anchor.network in options.names]
    predictions = [predict(anchor, parameters) for anchor in chosen]
    print(table(predictions))
    if options.json:
        rows = [{**asdict(entry.anchor), "predicted": entry.predicted} for entry in predictions]
        options.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
