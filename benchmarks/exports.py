"""Exports of PyTorch models as users have them: what the tables of exports are made of, which is not shipped.

    python benchmarks/exports.py [NAME ...] [-o FOLDER] [--beside FOLDER]

Random weights by seed, statistics of BatchNormalization calibrated on random inputs; exported by PyTorch's
TorchScript exporter at opset 17, constant folding and the fusion of BatchNormalization off, so that there is
work to do.  Needs the extra `networks` (PyTorch, 3 GB with its libraries).  `--beside` compares numbers of
operators with those of files of the same names in another folder.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import importlib.util
import io
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import onnx

from egraph_opt.model.files import write_whole

FOLDER = Path(__file__).resolve().parent.parent / ".networks" / "exports"
"""Where they are written unless told otherwise; not committed."""

NEEDED = ("torch", "timm", "transformers")
OPSET = 17


@dataclass(frozen=True)
class Export:
    """A model to export.

    Attributes:
        make: the module, of whose outputs the tensors are exported.
        inputs: shapes of float inputs, ("ids", shape) of token numbers, ("mask", shape) of ones.
        dynamic: by number of an input its symbolic axes.
    """

    make: Callable[[], Any]
    inputs: tuple[Any, ...]
    dynamic: Mapping[int, Mapping[int, str]] = field(default_factory=dict)


def _own(module: str, name: str) -> Any:
    """A class of a module that needs PyTorch."""
    return getattr(importlib.import_module(module), name)


def _made(module: str, name: str) -> Any:
    return _own(module, name)()


def _image_model(name: str) -> Any:
    return importlib.import_module("timm").create_model(name, pretrained=False, num_classes=100)


def _encoder() -> Any:
    torch = importlib.import_module("torch")
    torch.backends.mha.set_fastpath_enabled(False)  # which has no equivalent in ONNX
    nn = torch.nn
    layer = nn.TransformerEncoderLayer(128, 4, 256, batch_first=True, norm_first=True)
    return nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)


def _transformer(config: str, model: str, attention: str, outputs: int, **settings: Any) -> Any:
    """A model of `transformers`, of whose outputs the first ones count; GPT-2 has a mask of ones."""
    package = importlib.import_module("transformers")
    made = getattr(package, config)(return_dict=False, attn_implementation=attention, **settings)
    masked = model == "GPT2Model"
    return _own("export_modules", "Positional")(getattr(package, model)(made), outputs, masked)


def _whisper() -> Any:
    package = importlib.import_module("transformers.models.whisper.modeling_whisper")
    settings = package.WhisperConfig(**_WHISPER, return_dict=False, attn_implementation="eager")
    return _own("export_modules", "Positional")(package.WhisperEncoder(settings), 1)


_BERT = {
    "vocab_size": 1000,
    "hidden_size": 256,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 1024,
    "max_position_embeddings": 256,
}
_GPT2 = {
    "vocab_size": 1000,
    "n_positions": 128,
    "n_embd": 256,
    "n_layer": 2,
    "n_head": 4,
    "bos_token_id": 0,
    "eos_token_id": 0,
    "use_cache": False,
}
_T5 = {"vocab_size": 1000, "d_model": 256, "d_kv": 64, "d_ff": 512, "num_layers": 2, "num_heads": 4}
_WHISPER = {
    "d_model": 128,
    "encoder_layers": 2,
    "encoder_attention_heads": 4,
    "encoder_ffn_dim": 512,
    "max_source_positions": 200,
    "num_mel_bins": 80,
}

EXPORTS: dict[str, Export] = {
    "aasist_like": Export(partial(_made, "export_aasist", "AasistLike"), ((1, 64600),)),
    "avgpool1d_1024": Export(partial(_made, "export_modules", "PooledConv1d"), ((1, 40, 1024),)),
    "avgpool_1x512": Export(partial(_made, "export_modules", "WidePool"), ((1, 1, 8, 512),)),
    "bert_l2_h256_dyn": Export(
        partial(_transformer, "BertConfig", "BertModel", "eager", 2, **_BERT),
        (("ids", (2, 32)), ("mask", (2, 32))),
        {0: {0: "batch", 1: "seq"}, 1: {0: "batch", 1: "seq"}},
    ),
    "convnext_atto": Export(partial(_image_model, "convnext_atto"), ((1, 3, 224, 224),)),
    "convtasnet_small": Export(partial(_made, "export_modules", "ConvTasNet"), ((1, 1, 8000),)),
    "gpt2_l2_h256_s64": Export(
        partial(_transformer, "GPT2Config", "GPT2Model", "eager", 1, **_GPT2), (("ids", (1, 64)),)
    ),
    "hifigan_c64_weightnorm_dyn": Export(
        partial(_made, "export_modules", "HifiGan"), ((1, 80, 32),), {0: {0: "batch", 2: "frames"}}
    ),
    "levit_128s": Export(partial(_image_model, "levit_128s"), ((1, 3, 224, 224),)),
    "mobilenetv3_small": Export(partial(_image_model, "mobilenetv3_small_100"), ((1, 3, 224, 224),)),
    "nasrnn_h256_l5": Export(partial(_made, "export_modules", "NasRnn"), ((1, 256),) * 6),
    "nn_transformer_enc_l2": Export(_encoder, ((1, 50, 128),)),
    "squeezenet_bypass": Export(partial(_made, "export_modules", "SqueezeNetBypass"), ((1, 3, 224, 224),)),
    "stftconv_classifier": Export(partial(_made, "export_modules", "SpectrumClassifier"), ((1, 1, 16000),)),
    "t5enc_l2_h256": Export(
        partial(_transformer, "T5Config", "T5EncoderModel", "sdpa", 1, **_T5), (("ids", (1, 48)),)
    ),
    "unet_c16": Export(partial(_made, "export_modules", "UNet"), ((1, 3, 128, 128),)),
    "wavenet_c64_l10": Export(partial(_made, "export_modules", "WaveNet"), ((1, 80, 200),)),
    "whisper_enc_l2": Export(_whisper, ((1, 80, 400),)),
}
"""By file name."""


def missing() -> str:
    """What exporting lacks here, and how to get it; "" where nothing."""
    names = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    return f"not installed: {', '.join(names)}; pip install -e '.[networks]'" if names else ""


def _inputs(entry: Export) -> tuple[Any, ...]:
    torch = importlib.import_module("torch")
    made = []
    for given in entry.inputs:
        kind, shape = given if isinstance(given[0], str) else ("", given)
        if kind == "ids":
            made.append(torch.randint(0, 1000, shape))
        else:
            made.append(torch.ones(shape, dtype=torch.int64) if kind == "mask" else torch.randn(shape))
    return tuple(made)


def _calibrate(module: Any, entry: Export, rounds: int = 3) -> None:
    """Scales and shifts of BatchNormalization at random, statistics of what random inputs give."""
    torch = importlib.import_module("torch")
    kept = [part for part in module.modules() if isinstance(part, torch.nn.modules.batchnorm._BatchNorm)]
    for part in kept:
        torch.nn.init.uniform_(part.weight, 0.5, 1.5)
        torch.nn.init.normal_(part.bias, std=0.1)
    if kept:
        module.train()
        with torch.no_grad():
            for _ in range(rounds):
                inputs = [torch.cat([x, torch.randn_like(x)]) for x in _inputs(entry)]
                module(*inputs)
    module.eval()


def export(name: str, seed: int = 0) -> bytes:
    """A model, serialized.

    Raises:
        ImportError: a package is not installed.
    """
    torch = importlib.import_module("torch")
    torch.manual_seed(seed)
    entry, file = EXPORTS[name], io.BytesIO()
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")  # of tracing, and that the exporter is the old one
        module = entry.make()
        _calibrate(module, entry)
        inputs = _inputs(entry)
        names = [f"in{k}" for k in range(len(inputs))]
        torch.onnx.export(
            module,
            inputs,
            file,
            input_names=names,
            opset_version=OPSET,
            dynamic_axes={names[k]: dict(axes) for k, axes in entry.dynamic.items()},
            do_constant_folding=False,
            training=torch.onnx.TrainingMode.PRESERVE,
            dynamo=False,
        )
    return file.getvalue()


def difference(model: onnx.ModelProto, other: onnx.ModelProto) -> dict[str, tuple[int, int]]:
    """By operator how many a model and another one have, where the numbers differ."""
    counts = [Counter(node.op_type for node in given.graph.node) for given in (model, other)]
    return {
        name: (counts[0][name], counts[1][name])
        for name in sorted(counts[0] | counts[1])
        if counts[0][name] != counts[1][name]
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(EXPORTS)}; by default all")
    parser.add_argument("-o", "--output", type=Path, default=FOLDER, help="the folder to write to")
    parser.add_argument("--beside", type=Path, help="a folder of models of the same names to compare with")
    given = parser.parse_args()
    if unknown := [name for name in given.names if name not in EXPORTS]:
        parser.error(f"no export {', '.join(unknown)}; there are {', '.join(EXPORTS)}")
    if lacking := missing():
        sys.exit(lacking)
    given.output.mkdir(parents=True, exist_ok=True)
    failed = []
    for name in given.names or EXPORTS:
        try:
            data = export(name)
        except Exception as error:  # PyTorch's, of which there are many
            failed.append(name)
            print(f"{name}: {type(error).__name__}: {str(error).splitlines()[0]}", flush=True)
            continue
        write_whole(given.output / f"{name}.onnx", data)
        told = ""
        if given.beside is not None and (other := given.beside / f"{name}.onnx").exists():
            found = difference(onnx.load_from_string(data), onnx.load(other))
            told = f", here and there: {found}" if found else ", the same operators"
        print(f"{name}: {len(data) / 1e6:.1f} MB{told}", flush=True)
    if failed:
        sys.exit(f"not exported: {', '.join(failed)}")


if __name__ == "__main__":
    main()
