"""Profiles in the formats that are documented, from a cost model with known parameters."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from egraph_opt.cost.model import CostModel
from egraph_opt.lab.calibration.kernels import view_of
from egraph_opt.lab.calibration.profiles import ProfileRow
from egraph_opt.lab.calibration.tensors import KernelTensor, kernel_tensors

OLD = (
    "Model Name,Model ID,Task ID,Stream ID,Infer ID,Op Name,OP Type,Task Type,Task Start Time,"
    "Task Duration(us),Task Wait Time(us),Block Dim,Input Shapes,Input Data Types,Input Formats,"
    "Output Shapes,Output Data Types,Output Formats,aicore_time(us),total_cycles,vec_time(us),vec_ratio"
).split(",")
NEW = (
    "Device_id,Model ID,Task ID,Stream ID,Op Name,OP Type,OP State,Task Type,Task Start Time(us),"
    "Task Duration(us),Task Wait Time(us),Block Num,Mix Block Num,HF32 Eligible,Input Shapes,"
    "Input Data Types,Input Formats,Output Shapes,Output Data Types,Output Formats,Context ID,"
    "aicore_time(us),cube_utilization(%)"
).split(",")
DETAILS = (
    "Step Id,Model ID,Task ID,Stream ID,Name,Type,OP State,Accelerator Core,Start Time(us),Duration(us),"
    "Wait Time(us),Block Dim,Mix Block Dim,HF32 Eligible,Input Shapes,Input Data Types,Input Formats,"
    "Output Shapes,Output Data Types,Output Formats"
).split(",")


@dataclass(frozen=True)
class Kernel:
    """A kernel as a profile writes it: shapes, types and formats as its cells have them."""

    type: str
    inputs: str
    outputs: str
    formats: tuple[str, str] = ("ND", "ND")
    types: tuple[str, str] = ("FLOAT16", "FLOAT16")
    core: str = "AI_CORE"
    name: str = ""

    def row(self) -> ProfileRow:
        sides = [
            kernel_tensors(shapes, *(_repeated(text, shapes) for text in (dtype, layout)))
            for shapes, dtype, layout in zip(
                (self.inputs, self.outputs), self.types, self.formats, strict=True
            )
        ]
        found: list[tuple[KernelTensor, ...] | None] = sides
        return ProfileRow(1, self.name, self.type, self.core, 1.0, inputs=found[0], outputs=found[1])

    def micros(self, model: CostModel) -> float:
        return model.kernel_cost(view_of(self.row()), self.core)


def _repeated(text: str, shapes: str) -> str:
    """One type or format for each shape, where one stands for all."""
    return text if ";" in text else ";".join([text] * (shapes.count(";") + 1))


def varied(rounds: int, seed: int = 0) -> list[Kernel]:
    """Kernels of an offline model and of an eager one, from small to large; 19 or 20 each round."""
    return list(_varied(rounds, random.Random(seed)))


def _varied(rounds: int, draw: random.Random) -> Iterator[Kernel]:
    for k in range(rounds):
        size = int(2 ** draw.uniform(6, 24))
        for kind in ("Add", "Mul", "RealDiv", "Sub"):
            yield Kernel(kind, f"{size};{size}", f"{size}", core="AI_VECTOR_CORE")
        for kind in ("Relu", "Sigmoid", "Tanh", "Exp", "Sqrt", "Erf"):
            yield Kernel(kind, f"8,{size // 8 + 1}", f"8,{size // 8 + 1}", core="AI_VECTOR_CORE")
        m, n, depth = (16 * draw.randint(1, 128) for _ in range(3))
        yield Kernel("MatMulV2", f"{depth},{m};{n},{depth}", f"{m},{n}", ("ND", "ND"))
        yield Kernel("BatchMatMulV2", f"8,{m},{depth};8,{depth},{n}", f"8,{m},{n}")
        yield _convolution(draw)
        rows, columns = draw.randint(8, 2000), draw.randint(2001, 4000)
        yield Kernel("Transpose", f"{rows // 8},{columns // 8}", f"{columns // 8},{rows // 8}")
        yield Kernel("Transpose", f"{rows},{columns}", f"{columns},{rows}", types=("FLOAT16", "FLOAT16"))
        yield Kernel("TransposeD", f"{rows},{columns},64", f"{columns},{rows},64")
        yield _conversion(draw)
        yield Kernel("SoftmaxV2", f"{rows},{columns}", f"{rows},{columns}")
        yield Kernel("ReduceSumD", f"{rows},{columns}", f"{rows}")
        yield Kernel("ConcatD", f"{rows},{columns};{rows},{columns}", f"{rows},{2 * columns}")
        if k % 2 == 0:
            yield Kernel(
                "Cast", f"{rows}", f"{rows}", types=("DOUBLE", "FLOAT"), core="AI_CPU", name=f"Cast_{k}"
            )


def _convolution(draw: random.Random) -> Kernel:
    ins, outs, side = draw.randint(1, 16), draw.randint(1, 16), draw.randint(7, 112)
    image, result = f"1,{ins},{side},{side},16", f"1,{outs},{side},{side},16"
    return Kernel(
        "Conv2D", f"{image};{9 * ins},{outs},16,16", result, ("NC1HWC0;FRACTAL_Z", "NC1HWC0")
    )  # fmt: skip


def _conversion(draw: random.Random) -> Kernel:
    channels, side = draw.choice((3, 16, 64, 256)), draw.randint(3, 100)
    blocks = -(-channels // 16)
    return Kernel(
        "TransData", f"1,{channels},{side},{side}", f"1,{blocks},{side},{side},16", ("NCHW", "NC1HWC0")
    )  # fmt: skip


@dataclass(frozen=True)
class Noise:
    """How times scatter: a standard deviation of logarithms, and a share of outliers."""

    spread: float = 0.0
    outliers: float = 0.0
    seed: int = 1

    def applied(self, times: Sequence[float]) -> list[float]:
        draw = random.Random(self.seed)
        return [
            time * 2.718281828 ** draw.gauss(0, self.spread)
            * (draw.choice((0.2, 3.0, 10.0)) if draw.random() < self.outliers else 1.0)
            for time in times
        ]  # fmt: skip


def write(
    path: Path,
    kernels: Sequence[Kernel],
    model: CostModel,
    noise: Noise = Noise(),
    *,
    header: Sequence[str] = NEW,
) -> Path:
    """A table of kernels with one of the headers; start times end in a tab, as msprof writes them."""
    times = noise.applied([kernel.micros(model) for kernel in kernels])
    lines = [",".join(header)]
    for number, (kernel, micros) in enumerate(zip(kernels, times, strict=True)):
        cells = _cells(kernel, number, micros)
        lines.append(",".join(cells.get(name.partition("(")[0], "0") for name in header))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def _cells(kernel: Kernel, number: int, micros: float) -> Mapping[str, str]:
    name = kernel.name or f"{kernel.type}_{number}"
    shapes = [f'"""{text}"""' if text != "N/A" else text for text in (kernel.inputs, kernel.outputs)]
    types = [_repeated(text, shape) for text, shape in zip(kernel.types, shapes, strict=True)]
    formats = [_repeated(text, shape) for text, shape in zip(kernel.formats, shapes, strict=True)]
    return {
        "Op Name": name, "Name": name, "OP Type": kernel.type, "Type": kernel.type,
        "Task Type": kernel.core, "Accelerator Core": kernel.core,
        "Task Start Time": f"{1700000000000.0 + number}\t", "Start Time": f"{1700000000000.0 + number}\t",
        "Task Duration": f"{micros:.4f}", "Duration": f"{micros:.4f}",
        "Input Shapes": shapes[0], "Input Data Types": types[0], "Input Formats": formats[0],
        "Output Shapes": shapes[1], "Output Data Types": types[1], "Output Formats": formats[1],
        "OP State": "static", "HF32 Eligible": "NO", "Model Name": "resnet", "Context ID": "N/A",
    }  # fmt: skip
