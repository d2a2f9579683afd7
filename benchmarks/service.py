"""Optimises many small models, each another one, in one process, and prints how much memory it has.

python benchmarks/service.py [--models 1000] [--cost nodes|ascend|...] [--threads 1] [--verify]

What is kept from one model to the next has bounds: memory grows until they are reached, in some hundred
models, and then no more.  Linux only, where a process knows what it has resident.
"""

from __future__ import annotations

import argparse
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import onnx
from onnx import parser

from egraph_opt import optimize


def model(k: int) -> onnx.ModelProto:
    """The k-th: other sizes, weights and depth; Linear, a chain of elementwise nodes, idle Transposes."""
    rows, inner, depth = 3 + k, 4 + k % 7, 2 + k % 5
    weights = ", ".join(f"{0.01 * (i + k):.4f}" for i in range(2 * inner))
    chain = [f"r{j} = Relu ({'u' if j == 0 else f'm{j - 1}'}) m{j} = Mul (r{j}, scale)" for j in range(depth)]
    return parser.parse_model(
        f"""<ir_version: 8, opset_import: ["" : 17]> g (float[{rows}, {inner}] x) => (float[{rows}, 2] y)
        <float[{inner}, 2] weight = {{ {weights} }}, float[2] bias = {{ {k}, 1 }},
         float scale = {{ {k}.5 }}> {{
            a = Relu (x) b = MatMul (a, weight) c = Add (b, bias)
            t = Transpose <perm = [1, 0]> (c) u = Transpose <perm = [1, 0]> (t)
            {" ".join(chain)} y = Sigmoid (m{depth - 1}) }}"""
    )


def resident() -> float:
    """MiB of this process in memory."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * 4096 / 2**20


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--models", type=int, default=1000)
    parser.add_argument("--cost", default="nodes")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--verify", action="store_true")
    return parser.parse_args()


def main() -> None:
    """Run it."""
    given, started = _arguments(), time.monotonic()
    step = max(given.models // 10, 1)

    def run(k: int) -> None:
        optimize(model(k), given.cost, verify=given.verify)

    with ThreadPoolExecutor(given.threads) as pool:
        for begin in range(0, given.models, step):
            for _ in pool.map(run, range(begin, min(begin + step, given.models))):
                pass
            seconds = time.monotonic() - started
            print(f"{begin + step:6d} models  {resident():7.1f} MiB  {seconds:6.1f} s", flush=True)


if __name__ == "__main__":
    main()
