"""Nothing but our own output is on stdout, whatever libraries write to the file descriptor."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import threading

import pytest

from egraph_opt.extraction.programs.solver import quiet


def test_what_libraries_write_is_dropped_and_ours_is_kept(capfd: pytest.CaptureFixture[str]) -> None:
    print("before", end=" ")
    with quiet():
        os.write(1, b"of a library, at once")
        ctypes.CDLL(None).puts(b"of a library, from its buffer")
    print("after")
    assert capfd.readouterr().out == "before after\n"


def test_threads_share_the_silence_and_the_last_one_ends_it(capfd: pytest.CaptureFixture[str]) -> None:
    inside, leave = threading.Event(), threading.Event()

    def hold() -> None:
        with quiet():
            inside.set()
            leave.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    inside.wait()
    with quiet():
        os.write(1, b"lost")
    os.write(1, b"lost as well")
    leave.set()
    thread.join()
    os.write(1, b"kept")
    assert capfd.readouterr().out == "kept"


def test_what_is_raised_inside_ends_the_silence(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ValueError, match="inside"), quiet():
        raise ValueError("inside")
    os.write(1, b"kept")
    assert capfd.readouterr().out == "kept"


SOLVING = """
from tests.extraction.egraphs import tangled_problem
from egraph_opt.extraction import extract
from egraph_opt.extraction.strategies import treatments
treatments.solve_narrow = treatments.solve_wide = lambda piece, late, *most: None
asked = sum(piece.checked for seed in range(5) for piece in extract(tangled_problem(seed, 9)).pieces)
print("asked", asked > 0)
"""


@pytest.mark.parametrize("closed", [False, True])
def test_a_search_prints_nothing(closed: bool) -> None:
    before = "import os; os.close(1); import sys; sys.stdout = sys.stderr\n" if closed else ""
    ran = subprocess.run([sys.executable, "-c", before + SOLVING], capture_output=True, text=True, check=True)
    assert (ran.stderr if closed else ran.stdout) == "asked True\n"
