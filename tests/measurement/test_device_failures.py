"""A device that crashes, hangs, prints nonsense or is another one: nothing that was measured is lost."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import onnx
import pytest
from onnx import helper

from egraph_opt import Runner
from egraph_opt.errors import TimingError
from egraph_opt.measurement.runner import IN_A_ROW
from egraph_opt.measurement.times_journal import Rounds, TimesJournal, latencies_on

DEVICE = """
    import json, os, signal, sys, time

    stream, files = sys.argv[1] == "stream", sys.argv[2:]
    with open("calls", "a") as log:
        print(len(files), file=log)
    answers = []
    for file in files:
        rule = os.path.basename(file).split("-")[0]
        if rule == "crash":
            os.abort()
        if rule == "hang":
            time.sleep(600)
        if rule == "nonsense":
            sys.exit("Traceback: nonsense")
        if rule == "once" and not os.path.exists("once"):
            open("once", "w").close()
            while "PARENT" in os.environ and not (os.path.exists("journal") and os.path.getsize("journal")):
                time.sleep(0.05)
            os.kill(os.getppid() if "PARENT" in os.environ else os.getpid(), signal.SIGKILL)
        answer = {"micros": 7.0, "device": "other" if rule == "other" else "d"}
        if rule == "refuse":
            answer = {"error": "no such kernel"}
        answers.append({"model": file, **answer} if stream else answer)
        if stream:
            print(json.dumps(answers[-1]), flush=True)
    if not stream:
        print(json.dumps(answers))
"""
"""A device that does with a model what its file says; it prints each time at once, or all at last."""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("device.py").write_text(textwrap.dedent(DEVICE))
    return tmp_path


def models(rules: list[str]) -> list[Path]:
    """A file a rule, each of which differs from the others."""
    found = []
    for k, rule in enumerate(rules):
        x, y = (helper.make_tensor_value_info(name, 1, [k + 1]) for name in "xy")
        graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", [x], [y])
        found.append(Path(f"{rule}-{k}.onnx").absolute())
        onnx.save(helper.make_model(graph), found[-1])
    return found


def device(how: str, **settings: object) -> Runner:
    command = f"{sys.executable} device.py {how} {{models}}"
    return Runner(command, **{"timeout": 10.0, "retries": 0, **settings})  # type: ignore[arg-type]


def calls() -> list[int]:
    return list(map(int, Path("calls").read_text().split()))


@pytest.mark.parametrize("how", ["stream", "last"])
@pytest.mark.parametrize(
    ("rule", "said"), [("crash", "failed with -6"), ("nonsense", "nonsense"), ("refuse", "no such kernel")]
)
def test_the_model_at_fault_is_the_only_one_without_a_time(how: str, rule: str, said: str) -> None:
    rules = ["good"] * 40
    rules[17] = rule
    answers = device(how).time(models(rules))
    assert said in answers[17].error
    assert [answer.micros for k, answer in enumerate(answers) if k != 17] == [7.0] * 39
    assert len(calls()) <= (3 if how == "stream" else 14)


def test_a_model_that_hangs_is_found_and_ended() -> None:
    answers = device("stream", timeout=2.0).time(models(["good", "good", "hang", "good"]))
    assert "did not end within" in answers[2].error
    assert [answers[k].micros for k in (0, 1, 3)] == [7.0] * 3
    assert calls() == [4, 1, 1]


def test_a_command_that_is_killed_is_called_again_for_what_is_left() -> None:
    answers = device("stream", retries=1).time(models(["good", "good", "once", "good"]))
    assert [answer.micros for answer in answers] == [7.0] * 4
    assert calls() == [4, 2]


def test_a_device_that_is_gone_is_not_called_for_every_model() -> None:
    answers = device("last").time(models(["crash"] * 200))
    assert all("failed" in answer.error for answer in answers)
    assert len(calls()) == IN_A_ROW


def test_a_line_of_each_model_is_in_the_journal_before_the_command_ends(folder: Path) -> None:
    runner = device("stream", journal=folder / "journal", timeout=5.0, rounds=1)
    rounds = Rounds(runner, models(["good", "good", "hang"]), "the first")
    rounds.run(0, lambda waiting: [waiting])
    lines = (folder / "journal").read_text().splitlines()
    assert [json.loads(line)["micros"] for line in lines] == [7.0, 7.0]


def test_what_was_measured_outlives_the_process_that_asked(folder: Path) -> None:
    """The process is killed, as is the machine: another one calls the command for what is left alone."""
    paths = models(["good", "good", "once", "good"])
    code = f"""
        from pathlib import Path
        from egraph_opt import Runner
        from egraph_opt.measurement.times_journal import latencies_on
        runner = Runner({device("stream").command!r}, retries=0, rounds=1, journal=Path("journal"))
        latencies_on(runner, [Path(name) for name in {list(map(str, paths))!r}])
    """
    environment = {**os.environ, "PARENT": "1"}
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], env=environment, check=False)
    assert done.returncode == -signal.SIGKILL
    journal = folder / "journal"
    known = len(journal.read_text().splitlines())
    assert known >= 1
    Path("calls").unlink()
    found = latencies_on(device("stream", rounds=1, journal=journal), paths)
    assert [each.micros for each in found] == [7.0] * 4  # type: ignore[union-attr]
    assert calls() == [4 - known]


def test_times_of_another_device_end_the_measuring_at_once(folder: Path) -> None:
    runner = device("stream", journal=folder / "journal")
    with pytest.raises(TimingError, match="several devices: 'd', 'other'; take another journal"):
        latencies_on(runner, models(["good", "other", "good"]))
    assert len(calls()) == 1
    lines = (folder / "journal").read_text().splitlines()
    assert [json.loads(line)["device"] for line in lines] == ["d"]


def test_a_command_that_never_stops_printing_is_ended() -> None:
    Path("endless.py").write_text("while True: print('x' * 1000)")
    runner = Runner(f"{sys.executable} endless.py {{model}}", timeout=60.0, retries=0)
    (answer,) = runner.time(models(["good"]))
    assert "printed more than" in answer.error


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_a_command_ends_with_the_process_that_called_it(folder: Path, how: signal.Signals) -> None:
    Path("hang.sh").write_text("echo $$ > child.part\nmv child.part child\nsleep 600\n")
    code = """
        from pathlib import Path
        from egraph_opt import Runner
        Runner("sh hang.sh {model}").time([Path("any.onnx")])
    """
    asks = subprocess.Popen([sys.executable, "-c", textwrap.dedent(code)])
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and not Path("child").exists():
        time.sleep(0.05)
    time.sleep(0.5)  # the guard is started behind the command
    asks.send_signal(how)
    assert asks.wait() == -how
    child = int(Path("child").read_text())
    while time.monotonic() < deadline and _runs(child):
        time.sleep(0.05)
    assert not _runs(child)


def test_calls_in_threads_wait_for_each_other_and_those_of_other_commands_do_not_free_them() -> None:
    Path("turns.py").write_text(
        "import time\n"
        "for word in ('begin', 'end'):\n"
        "    with open('turns', 'a') as log: print(word, file=log)\n"
        "    time.sleep(0.3)\n"
        "print('{\"micros\": 3}')\n"
    )
    slow = Runner(f"{sys.executable} turns.py {{model}}", retries=0)
    quick = Runner("echo '{\"micros\": 3}' {model}", retries=0)
    (path,) = models(["good"])
    calls = [threading.Thread(target=runner.time, args=([path],)) for runner in (slow, slow, quick, slow)]
    for thread in calls:
        thread.start()
    for thread in calls:
        thread.join()
    assert Path("turns").read_text().split() == ["begin", "end"] * 3


def test_what_a_command_leaves_running_is_ended_with_it() -> None:
    Path("leaves.sh").write_text("sleep 600 &\necho $! > child\necho '{\"micros\": 3}'\n")
    (answer,) = Runner("sh leaves.sh {model}", timeout=60.0, retries=0).time(models(["good"]))
    assert answer.micros == 3
    child, deadline = int(Path("child").read_text()), time.monotonic() + 10
    while time.monotonic() < deadline and _runs(child):
        time.sleep(0.05)
    assert not _runs(child)


def _runs(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def test_a_profile_by_node_is_read_and_kept(folder: Path) -> None:
    Path("nodes.py").write_text(
        """import json; print(json.dumps({"micros": 9, "nodes": {"a": 4, "b": 5.5, "c": "x", "d": -1}}))"""
    )
    runner = Runner(f"{sys.executable} nodes.py {{model}}", journal=folder / "journal", rounds=1)
    latencies_on(runner, models(["good"]))
    (answer,) = TimesJournal(folder / "journal").known.values()
    assert answer.nodes == {"a": 4.0, "b": 5.5}
