"""Is an optimized model still the original?

`verify` compares interface, validity and outputs; `random_inputs` makes up inputs for any model.

- `interface`: names and types of inputs and outputs.
- `checking`: ONNX's checker.
- `sizes`, `inputs`, `planning`, `branches`, `overriding`: what to run a model on.
- `execution`: ONNX Runtime, models as they are written or with its own optimisations.
- `runs`, `comparison`: both models on the same inputs; tolerances.
- `deployed`: the same with what ONNX Runtime makes of them.
- `trials`, with `odd_values`, `turning_points`, `roles`: odd inputs, which random ones do not hit.
- `closely`, `inside`, `unsettled`: how closely they are compared, tensors inside included.
- `stability`, `moving`, `determinism`: where the original itself does not settle what the outputs are.
- `course`, `verifier`: all of it in order.
"""

from egraph_opt.verification.execution import ExecutionError, Session, load
from egraph_opt.verification.inputs import UnsupportedInputError, random_inputs
from egraph_opt.verification.interface import interface
from egraph_opt.verification.result import SKIPPED, Verification
from egraph_opt.verification.verifier import verify

__all__ = [
    "SKIPPED",
    "ExecutionError",
    "Session",
    "UnsupportedInputError",
    "Verification",
    "interface",
    "load",
    "random_inputs",
    "verify",
]
