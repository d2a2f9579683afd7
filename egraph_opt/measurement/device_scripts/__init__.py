"""Scripts that time models with a vendor's tools, for `--runner`: each stands alone where it is copied to.

They need Python 3.8 and the tools, and nothing of this package.
"""

from __future__ import annotations

from importlib import resources

from egraph_opt.errors import UnknownSettingError

NAMES = ("ascend_ais_bench", "ascend_msame", "onnxruntime_test", "openvino_benchmark_app", "trtexec")

_SHARED = "from egraph_opt.measurement.device_scripts.shared import "
_FUTURE = "from __future__ import annotations\n"


def script(name: str) -> str:
    """The text of a script, with what it shares with others in it.

    Raises:
        UnknownSettingError: there is none of that name.
    """
    if name not in NAMES:
        raise UnknownSettingError(name, NAMES)
    own, shared = _text(name), _text("shared")
    line = next(line for line in own.splitlines() if line.startswith(_SHARED))
    body = shared.partition(_FUTURE)[2].strip("\n")
    return "#!/usr/bin/env python3\n" + own.replace(line, f"{body}\n\n")


def _text(name: str) -> str:
    return (resources.files(__name__) / f"{name}.py").read_text(encoding="utf-8")
