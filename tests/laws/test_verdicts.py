"""That a law of a file passed the gate is kept, where all that decides it is text."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import pytest

from egraph_opt.cache import FOLDER_VARIABLE
from egraph_opt.check import LawRefusedError
from egraph_opt.check.whole_law import check_law
from egraph_opt.cli.application import load_files
from egraph_opt.errors import LawError
from egraph_opt.imports import LOADED
from egraph_opt.laws import verdicts
from egraph_opt.laws.law import Law, registered
from egraph_opt.laws.loading import load_laws

HEAD = """from egraph_opt.facts.fact import Fact
from egraph_opt.laws import *
from egraph_opt.operators import *
"""

LAW = """
@law('mine', numerics='bitwise')
def {name}(x: Tensor):
    '''A law'''
    once = relu(x)
    yield rewrite(unary({name!r}, (), relu(once)), unary({name!r}, (), once), {condition} because='grows')
"""

ASKED = """
@hosted()
def holds(x: Fact) -> bool:
    return x.rank is not None and x.rank < least()
"""

Load = Callable[[Path], list[str]]


def with_law(above: str = "", name: str = "Abs", condition: str = "") -> str:
    return HEAD + above + LAW.format(name=name, condition=condition)


def asking(above: str) -> str:
    """A law with a host function that calls `least`."""
    return with_law(f"{above}\n{ASKED}", condition="holds(x),")


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path / "cache"))
    return tmp_path / "cache"


def _forget_files(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith((LOADED, "own_"))]:
        monkeypatch.delitem(sys.modules, name)


@pytest.fixture
def file(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    _forget_files(monkeypatch)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    return tmp_path / "laws.py"


@pytest.fixture
def tried(cache: Path, monkeypatch: pytest.MonkeyPatch) -> Load:
    """Loads a file as a new process does, and answers which laws went to the gate, which lets all pass."""
    before = dict(registered)

    def load(path: Path) -> list[str]:
        found: list[str] = []
        monkeypatch.setattr("egraph_opt.check.whole_law.check_law", lambda law, **_: found.append(law.name))
        _forget_files(monkeypatch)
        registered.clear()
        registered.update(before)
        load_files([path])
        return found

    return load


def notes(cache: Path) -> list[Path]:
    return sorted(cache.glob("accepted-*.txt"))


def test_a_law_that_was_accepted_is_not_tried_again(
    file: Path, cache: Path, tried: Load, monkeypatch: pytest.MonkeyPatch
) -> None:
    file.write_text(with_law())
    assert tried(file) == ["Abs"]
    assert tried(file) == []
    (note,) = notes(cache)
    assert "'mine.Abs' was accepted" in note.read_text()
    assert note.stat().st_mode & 0o777 == 0o600 and cache.stat().st_mode & 0o777 == 0o700
    monkeypatch.setenv(FOLDER_VARIABLE, "")
    assert tried(file) == ["Abs"]


def test_the_gate_itself_accepts_and_refuses(file: Path, cache: Path) -> None:
    file.write_text(with_law())
    load_files([file])
    (note,) = notes(cache)
    file.write_text(HEAD + LAW.format(name="Neg", condition="").replace("relu(once)", "relu(-x)"))
    for _ in range(2):
        with pytest.raises(LawRefusedError):
            load_files([file])
        assert notes(cache) == [note]


@pytest.mark.parametrize("error", [LawRefusedError, LawError, KeyboardInterrupt])
def test_what_was_not_accepted_is_not_kept(
    file: Path, cache: Path, tried: Load, error: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    file.write_text(with_law())

    def refused(law: Law, **settings: object) -> None:
        raise error("wrong")

    monkeypatch.setattr("egraph_opt.check.whole_law.check_law", refused)
    with pytest.raises(error):
        load_files([file])
    assert notes(cache) == []
    assert tried(file) == ["Abs"]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (with_law(), with_law().replace("once = relu(x)", "once = relu(-x)")),
        (with_law(), with_law().replace("'bitwise'", "'finite'")),
        (asking("def least():\n    return 3"), asking("def least():\n    return 4")),
        (asking("L = [3]\ndef least():\n    return L[0]"), asking("L = [4]\ndef least():\n    return L[0]")),
        (
            asking("def until(n):\n    return lambda: n\nleast = until(3)"),
            asking("def until(n):\n    return lambda: n\nleast = until(4)"),
        ),
        (with_law("A = 1\n"), with_law("A = 2\n")),
    ],
)
def test_a_law_is_tried_again_when_its_file_is_another(
    file: Path, tried: Load, before: str, after: str
) -> None:
    file.write_text(before)
    assert tried(file) == ["Abs"] and tried(file) == []
    file.write_text(after)
    assert tried(file) == ["Abs"]
    file.write_text(before)
    assert tried(file) == []


@pytest.mark.parametrize(
    "importing", ["from own_part import least", "import own_part\nleast = own_part.least"]
)
def test_a_law_is_tried_again_when_a_module_that_it_imports_is_another(
    tmp_path: Path, file: Path, tried: Load, importing: str
) -> None:
    file.write_text(asking(importing))
    (tmp_path / "own_part.py").write_text("from own_number import NUMBER\ndef least():\n    return NUMBER\n")
    (tmp_path / "own_number.py").write_text("NUMBER = 3\n")
    assert tried(file) == ["Abs"] and tried(file) == []
    (tmp_path / "own_number.py").write_text("NUMBER = 4\n")
    assert tried(file) == ["Abs"]


def test_modules_in_packages_count_with_what_is_run_before_them(
    tmp_path: Path, file: Path, tried: Load
) -> None:
    (tmp_path / "own_package").mkdir()
    start, part = tmp_path / "own_package" / "__init__.py", tmp_path / "own_package" / "part.py"
    start.write_text("NUMBER = 3\n")
    part.write_text("from . import NUMBER\nfrom .other import A\ndef least():\n    return NUMBER\n")
    (tmp_path / "own_package" / "other.py").write_text("A = 1\n")
    file.write_text(asking("from own_package.part import least"))
    assert tried(file) == ["Abs"] and tried(file) == []
    for changed in (start, tmp_path / "own_package" / "other.py"):
        changed.write_text(changed.read_text() + "B = 1\n")
        assert tried(file) == ["Abs"] and tried(file) == []


def test_comments_and_other_laws_of_the_file_are_not_of_a_law(file: Path, tried: Load) -> None:
    other = LAW.format(name="Neg", condition="")
    file.write_text(with_law() + other)
    assert tried(file) == ["Abs", "Neg"] and tried(file) == []
    file.write_text("# of norms\n\n" + with_law() + "\n\n" + other.replace("relu(once)", "relu(-x)"))
    assert tried(file) == ["Neg"]


def test_a_law_that_another_names_is_of_it(file: Path, tried: Load) -> None:
    other = LAW.format(name="Neg", condition="")
    file.write_text(with_law() + other + "\nboth = (Abs, Neg)\n")
    assert tried(file) == ["Abs", "Neg"] and tried(file) == []
    file.write_text(with_law() + other.replace("relu(once)", "relu(-x)") + "\nboth = (Abs, Neg)\n")
    assert tried(file) == ["Abs", "Neg"]


def test_what_was_loaded_before_is_of_a_law(tmp_path: Path, file: Path, tried: Load) -> None:
    file.write_text(with_law())
    other = tmp_path / "other.py"
    other.write_text(with_law(name="Neg"))
    assert tried(file) == ["Abs"] and tried(other) == ["Neg"]
    found = tried(other)
    load_files([file])
    assert found == ["Abs"]


@pytest.mark.parametrize(
    "above",
    [
        "import os\ndef least():\n    return len(os.environ)",
        "import time\ndef least():\n    return time.time()",
        "from pathlib import Path\ndef least():\n    return 3",
        "def least():\n    return len(open('/dev/null').read())",
        "def least():\n    return eval('3')",
        "def least():\n    return int(__import__('time').time())",
        "import numpy as np\ndef least():\n    return np.random.rand()",
        "import numpy as np\ndef least():\n    return np.random.default_rng().random()",
        "from numpy.random import rand\ndef least():\n    return rand()",
        "from numpy import random\ndef least():\n    return random.rand()",
        "import numpy as np\ndef least():\n    return np.loadtxt('n.txt')",
        "def least():\n    import own_later\n    return own_later.N",
        "from egraph_opt import optimize\ndef least():\n    return 3",
        "from egraph_opt.pipeline.stages import optimize\ndef least():\n    return 3",
        "def least():\n    return hash('x')",
    ],
)
def test_a_law_that_may_see_more_than_text_is_tried_each_time(
    file: Path, cache: Path, tried: Load, above: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "egraph_opt.laws.verdicts")
    file.write_text(asking(above))
    assert tried(file) == ["Abs"] and tried(file) == ["Abs"]
    assert notes(cache) == []
    assert "mine.Abs: the verdict is not kept: " in caplog.text


def test_a_module_that_sees_more_than_text_counts_as_the_file_does(
    tmp_path: Path, file: Path, tried: Load
) -> None:
    (tmp_path / "own_part.py").write_text("import os\ndef least():\n    return 3\n")
    file.write_text(asking("from own_part import least"))
    assert tried(file) == ["Abs"] and tried(file) == ["Abs"]


@pytest.mark.parametrize(
    "above",
    [
        "import math\nfrom collections.abc import Sequence\ndef least():\n    return math.pi",
        "import numpy as np\ndef least(rng=np.random.default_rng(0)):\n    return rng.random()",
        "from onnx import TensorProto\ndef least():\n    return TensorProto.FLOAT",
        "from egraph_opt.rewrites.conditions import operands\ndef least():\n    return 3",
    ],
)
def test_what_only_computes_is_text(file: Path, tried: Load, above: str) -> None:
    file.write_text(asking(above))
    assert tried(file) == ["Abs"] and tried(file) == []


def test_a_file_that_changed_since_it_was_loaded_is_not_what_was_tried(file: Path, cache: Path) -> None:
    file.write_text(with_law())
    (law,) = load_laws(file)
    file.write_text(with_law("A = 1\n"))
    assert verdicts.note_of(law) is None


@pytest.mark.parametrize("changed", ["gate", "machine"])
def test_another_gate_or_machine_tries_anew(
    file: Path, tried: Load, changed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    file.write_text(with_law())
    assert tried(file) == ["Abs"] and tried(file) == []
    place = "laws.verdicts.gate" if changed == "gate" else "measurement.store.machine_key"
    monkeypatch.setattr(f"egraph_opt.{place}", lambda: "another")
    assert tried(file) == ["Abs"] and tried(file) == []


def test_the_gate_is_its_code_and_the_versions_of_what_it_computes_with(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    make = verdicts.gate.__wrapped__
    first = make()
    assert make() == first
    for name in verdicts.DEPENDENCIES:
        with monkeypatch.context() as patch:
            patch.setattr(
                "egraph_opt.laws.verdicts.version", lambda asked, n=name: version(asked) + "x" * (asked == n)
            )
            assert make() != first
    monkeypatch.setattr(verdicts, "PACKAGES", verdicts.PACKAGES[:1])
    assert make() != first


@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b"'mine.Abs' was accepted by the gate\n", "longer"])
def test_a_damaged_note_is_passed_over_and_made_anew(
    file: Path, cache: Path, tried: Load, content: bytes | str
) -> None:
    file.write_text(with_law())
    tried(file)
    (note,) = notes(cache)
    whole = note.read_bytes()
    note.write_bytes(whole + b"\n" if content == "longer" else bytes(content))  # type: ignore[arg-type]
    assert tried(file) == ["Abs"]
    assert note.read_bytes() == whole and tried(file) == []


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes")
@pytest.mark.parametrize("kind", ["pipe", "device", "folder"])
def test_what_is_no_note_is_neither_waited_for_nor_believed(
    file: Path, cache: Path, tried: Load, kind: str
) -> None:
    file.write_text(with_law())
    tried(file)
    (note,) = notes(cache)
    note.unlink()
    if kind == "pipe":
        os.mkfifo(note)
    elif kind == "device":
        note.symlink_to("/dev/zero")
    else:
        note.mkdir()
    assert tried(file) == ["Abs"]
    assert tried(file) == (["Abs"] if kind == "folder" else [])


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="files have no owners")
def test_a_folder_that_others_may_use_is_not_believed(file: Path, cache: Path, tried: Load) -> None:
    file.write_text(with_law())
    tried(file)
    cache.chmod(0o777)
    assert tried(file) == ["Abs"] and len(notes(cache)) == 1


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="files have no owners")
def test_a_note_of_another_user_is_not_believed(
    file: Path, cache: Path, tried: Load, monkeypatch: pytest.MonkeyPatch
) -> None:
    file.write_text(with_law())
    tried(file)
    (law,) = load_laws(file)
    (note,) = notes(cache)
    kept = verdicts.Note(note, note.read_text())
    assert kept.is_kept()
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    assert not kept.is_kept() and verdicts.note_of(law) is None


def test_there_are_so_many_notes_and_no_more(
    file: Path, cache: Path, tried: Load, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verdicts, "MOST_NOTES", 2)
    for k in range(4):
        file.write_text(with_law(f"A = {k}\n"))
        tried(file)
        for age, note in enumerate(notes(cache)):
            os.utime(note, (age, age)) if note.stat().st_mtime > 4 else None
        assert len(notes(cache)) == min(k + 1, 2)
    assert tried(file) == [] and len(notes(cache)) == 2


def test_where_nothing_can_be_written_laws_are_tried_as_ever(
    file: Path, cache: Path, tried: Load, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path, text: str) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(verdicts, "replace_text", full)
    file.write_text(with_law())
    assert tried(file) == ["Abs"] and tried(file) == ["Abs"]


def test_a_terminal_is_told_which_laws_were_accepted_before(
    file: Path, tried: Load, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file.write_text(with_law())
    tried(file)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    tried(file)
    assert f"note: {file}: laws accepted before: 1, tried now: 0" in capsys.readouterr().err


def test_the_gate_keeps_nothing_by_itself(file: Path, cache: Path) -> None:
    file.write_text(with_law())
    (law,) = load_laws(file)
    check_law(law, terms=16, conditions=False, neighbours=False)
    assert notes(cache) == []
