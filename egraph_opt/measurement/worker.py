"""A process that times batches for another one: a kernel that crashes ends this one and not the user's.

Batches come as pickles on standard input, (specimens, setting, seconds); out go ("trying", key) before a
specimen runs first, and ("done", answers) after a batch.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys
import tempfile
from pathlib import Path

from egraph_opt.measurement.batch import time_batch


def main() -> None:
    """Serve until standard input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the other process decides when to end
    with os.fdopen(os.dup(1), "wb") as answers:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what libraries print is no answer

        def say(*message: object) -> None:
            pickle.dump(message, answers)
            answers.flush()

        while True:
            try:
                batch, setting, seconds = pickle.load(sys.stdin.buffer)
            except EOFError:
                return
            with tempfile.TemporaryDirectory(prefix="egraph-opt-") as folder:
                done = time_batch(batch, setting, seconds, Path(folder), lambda key: say("trying", key))
            say("done", done)


if __name__ == "__main__":
    main()
