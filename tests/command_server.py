"""The command `egraph-opt` in forks of one process that has imported what it needs, which takes a second.

    python command_server.py FOLDER

writes a command FOLDER/egraph-opt that is called like the installed one, and a socket on which it hands on
its arguments, folder, environment and open files.  Each runs in a process of its own, so that one may call
others.
"""

from __future__ import annotations

import array
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory

LARGEST = 1 << 20

CLIENT = """#!{python} -ISs
import array, json, os, socket, sys

told = [sys.argv, os.getcwd(), dict(os.environ)]
with socket.socket(socket.AF_UNIX) as server:
    server.connect({address!r})
    files = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [0, 1, 2]))]
    server.sendmsg([json.dumps(told).encode() + b"\\n"], files)
    code = int(server.recv(64) or 255)
sys.exit(code)
"""


@contextmanager
def served_command() -> Iterator[Path]:
    """The folder of the command, which works as long as the context is open."""
    with TemporaryDirectory(prefix="egraph-opt-") as folder:
        command = [sys.executable, __file__, folder]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL) as server:
            assert server.stdout is not None
            assert server.stdout.readline() == b"ready\n"
            try:
                yield Path(folder)
            finally:
                server.terminate()


MODULES = (
    "egraph_opt.cli",
    "egraph_opt.cost.registry",
    "egraph_opt.egraph.commands",
    "egraph_opt.extraction",
    "egraph_opt.laws.selection",
    "egraph_opt.model.writing",
)


def _import_all() -> None:
    """What takes long to import, but for what has threads from then on, for which a fork would wait."""
    for name in MODULES:
        import_module(name)
    import_module("egraph_opt.laws.selection").all_laws()
    assert not {"egglog", "onnxruntime", "egraph_opt.egraph.engine"} & set(sys.modules)


def _serve(address: str) -> None:
    """Answer commands until the end; returns in the process of each."""
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(address)
        server.listen()
        print("ready", flush=True)
        signal.signal(signal.SIGCHLD, _bury)
        while True:
            client, _ = server.accept()
            if os.fork() == 0:
                break
            client.close()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    with client:
        told, rights, _, _ = client.recvmsg(LARGEST, socket.CMSG_SPACE(3 * 4))
        files = array.array("i", rights[0][2])
        while not told.endswith(b"\n"):
            told += client.recv(LARGEST)
        child = os.fork()
        if child == 0:
            arguments, folder, environment = json.loads(told)
            return _become(arguments, folder, environment, list(files))
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        client.sendall(str(code if code >= 0 else 128 - code).encode())
    os._exit(0)


def _bury(*_: object) -> None:
    """Wait for those who have answered, so that what they took counts as taken by this process."""
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _become(arguments: list[str], folder: str, environment: dict[str, str], files: list[int]) -> None:
    """Be the process that was asked for: as a shell would have started it."""
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = arguments
    sys.path[1:1] = [part for part in environment.get("PYTHONPATH", "").split(os.pathsep) if part]


if __name__ == "__main__":
    place = Path(sys.argv[1])
    script, socket_path = place / "egraph-opt", str(place / "socket")
    script.write_text(CLIENT.format(python=sys.executable, address=socket_path), encoding="utf-8")
    script.chmod(0o755)
    _import_all()
    _serve(socket_path)
    from egraph_opt.cli import main

    main()
