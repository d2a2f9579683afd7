"""A process that works for another one: a kernel or a tool that crashes ends this one and not the user's.

What to do comes as pickles on standard input, (function, arguments).  The function is handed `say` after its
arguments; what it says goes out as pickles, too.
"""

from __future__ import annotations

import os
import pickle
import select
import signal
import sys
import threading
from collections.abc import Callable
from functools import cache
from typing import Any

Say = Callable[[Any], None]

COMMAND = (sys.executable, "-m", "egraph_opt.measurement.worker")


@cache
def end_with_who_asks() -> None:
    """End this process as soon as nobody can ask it any more, whatever kernel is at work."""
    if not hasattr(select, "poll"):  # Windows
        return
    poller = select.poll()
    poller.register(0, 0)  # that it was closed is always told

    def wait() -> None:
        poller.poll()
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


def main() -> None:
    """Serve until standard input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the other process decides when to end
    with os.fdopen(os.dup(1), "wb") as answers:
        os.dup2(2, 1)  # what libraries print is no answer

        def say(message: Any) -> None:
            pickle.dump(message, answers)
            answers.flush()

        while True:
            try:
                function, arguments = pickle.load(sys.stdin.buffer)
            except EOFError:
                return
            function(*arguments, say)


if __name__ == "__main__":
    main()
