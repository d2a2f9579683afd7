"""Measurements kept in a file that processes share: SQLite, one table a format, a row a machine and node.

What is kept can always be measured again, so a file that is broken, foreign, locked or cannot be written is
no error: one line says so, and the measurements of this process stay in memory.
"""

from __future__ import annotations

import logging
import os
import platform
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import astuple, dataclass
from pathlib import Path
from zlib import crc32

from egraph_opt.cache import cache_folder, make_folder
from egraph_opt.graph.timed_runtime import Runtime
from egraph_opt.measurement.timing import Measurement, Refusal

_log = logging.getLogger(__name__)

FORMAT = 2
"""Written into the file; one of another format is put aside and made anew."""

_APPLICATION = 0x65677074
"""SQLite's application id of our files."""

_WAIT = 2.0
"""Seconds to wait for another process that writes."""

_AT_ONCE = 500
"""Keys in one query; SQLite takes 999 arguments, or more."""

COLUMNS = tuple("machine runtime setting key micros entering leaving kernels spread runs refusal".split())

_COLUMNS = ", ".join(COLUMNS)

_TABLE = """CREATE TABLE measurements (
    machine TEXT NOT NULL, runtime TEXT NOT NULL, setting TEXT NOT NULL, key TEXT NOT NULL,
    micros REAL, entering REAL, leaving REAL, kernels INTEGER, spread REAL, runs INTEGER, refusal TEXT,
    PRIMARY KEY (machine, runtime, setting, key)
) WITHOUT ROWID"""
"""All that a file of ours declares: views, triggers and virtual tables of another could compute anything."""

_SCHEMA = f"""
{_TABLE.replace("TABLE", "TABLE IF NOT EXISTS", 1)};
PRAGMA user_version = {FORMAT};
PRAGMA application_id = {_APPLICATION};
"""


_DECLARED = ("table", "measurements", _TABLE)


def default_path() -> Path | None:
    """The user's file of measurements; None where nothing is kept."""
    folder = cache_folder()
    return None if folder is None else folder / "measurements.sqlite"


def machine_name() -> str:
    """The processor: its model, where the system says."""
    return _processor().get("model name") or platform.processor() or platform.machine()


def machine_key(processor: Mapping[str, str] | None = None) -> str:
    """The processor, as far as times depend on it: different ones are sold under one name.

    Args:
        processor: what `/proc/cpuinfo` says of one; by default of this machine's.
    """
    said = _processor() if processor is None else processor
    name = said.get("model name") or machine_name()
    parts = [f"{key} {said[key]}" for key in ("cpu family", "model", "stepping") if key in said]
    vectors = sorted(flag for flag in said.get("flags", "").split() if flag.startswith(_VECTORS))
    if vectors:
        parts.append(f"vectors {crc32(' '.join(vectors).encode()):08x}")
    return ", ".join((name, *parts, f"{os.cpu_count()} cores"))


_VECTORS = ("amx", "avx", "f16c", "fma", "sse", "ssse")
"""How flags of vector instructions begin."""


def _processor() -> dict[str, str]:
    """What the system says of the first processor."""
    try:
        first = Path("/proc/cpuinfo").read_text(encoding="utf-8").partition("\n\n")[0]
    except OSError:
        return {}
    pairs = (line.partition(":") for line in first.splitlines())
    return {key.strip(): value.strip() for key, _, value in pairs}


@dataclass(frozen=True)
class Place:
    """What measurements hold for.

    Attributes:
        machine: the processor, see `machine_key`.
        runtime: its name, version and build.
        setting: its options, threads among them.
    """

    machine: str
    runtime: str
    setting: str

    @staticmethod
    def here(runtime: Runtime) -> Place:
        return Place(machine_key(), f"{runtime.title} {runtime.version}", runtime.options_key)


class Store:
    """Measurements by key; in memory, and in a file where there can be one."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self._known: dict[Place, dict[str, Measurement | Refusal]] = {}
        self._usable = path is not None
        self._prepared = False

    def known(self, place: Place) -> Mapping[str, Measurement | Refusal]:
        """All that this process knows of a place."""
        if place not in self._known:
            self.refresh(place)
        return self._known[place]

    def refresh(self, place: Place, keys: Iterable[str] | None = None) -> None:
        """Read what the file has: all of a place, or those of some keys that this process does not know."""
        known = self._known.setdefault(place, {})
        missing = None if keys is None else [key for key in keys if key not in known]
        if self._usable and missing != []:
            self._try(lambda: self._load(place, missing))

    def add(self, place: Place, answers: Mapping[str, Measurement | Refusal]) -> None:
        """Keep answers; those of a batch are written at once."""
        self._known.setdefault(place, {}).update(answers)
        if answers and self._usable:
            rows = [_row(place, key, answer) for key, answer in answers.items()]
            self._try(lambda: self._write(rows))

    def rows(self) -> Iterator[tuple[object, ...]]:
        """All rows of the file, in the order of their keys."""
        if self._usable:
            self._prepare()
            with closing(self._open()) as connection:
                yield from connection.execute(f"SELECT {_COLUMNS} FROM measurements ORDER BY 1, 2, 3, 4")

    def merge(self, path: Path) -> int:
        """Take over what another file of the same format has and this one lacks: how many rows.

        Raises:
            OSError, ValueError, sqlite3.Error: it is no such file.
        """
        _check_kind(path)
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as other:
            other.text_factory = bytes.decode
            _check_format(other)
            rows = other.execute(f"SELECT {_COLUMNS} FROM measurements").fetchall()
        self._prepare()
        with closing(self._open()) as connection, connection:
            before = connection.total_changes
            marks = ", ".join("?" * len(COLUMNS))
            connection.executemany(f"INSERT OR IGNORE INTO measurements VALUES ({marks})", rows)
            return connection.total_changes - before

    def clear(self) -> int:
        """Forget everything: how many rows."""
        self._known.clear()
        if not self._usable:
            return 0
        self._prepare()
        with closing(self._open()) as connection, connection:
            return connection.execute("DELETE FROM measurements").rowcount

    def _try(self, action: Callable[[], None]) -> None:
        try:
            self._prepare()
            try:
                action()
            except sqlite3.DatabaseError as error:
                if isinstance(error, sqlite3.OperationalError):
                    raise
                self._put_aside(error)
                action()
        except (sqlite3.Error, OSError, ValueError) as error:
            _log.warning("%s: measurements are not kept: %s", self.path, error)
            self._usable = False

    def _open(self) -> sqlite3.Connection:
        assert self.path is not None
        connection = _connected(self.path)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        return connection

    def _prepare(self) -> None:
        """Make the file when it is needed first; one that is broken or of another format is put aside."""
        assert self.path is not None
        if self._prepared:
            return
        self._prepared = True
        make_folder(self.path.parent)
        _check_kind(self.path)
        if self.path.exists() and self.path.stat().st_size:
            try:
                with closing(_connected(self.path)) as connection:
                    _check_format(connection)
                return
            except (sqlite3.DatabaseError, ValueError) as error:
                if isinstance(error, sqlite3.OperationalError):
                    raise
                self._put_aside(error)
                return
        self._make()

    def _put_aside(self, error: Exception) -> None:
        """Make the file anew."""
        assert self.path is not None
        aside = self.path.with_name(f"{self.path.name}.old")
        _log.warning("%s: %s; it is put aside as %s", self.path, error, aside.name)
        os.replace(self.path, aside)
        for suffix in ("-wal", "-shm"):
            self.path.with_name(self.path.name + suffix).unlink(missing_ok=True)
        self._make()

    def _make(self) -> None:
        with closing(self._open()) as connection, connection:
            connection.executescript(_SCHEMA)

    def _load(self, place: Place, keys: list[str] | None) -> None:
        of_place = (
            f"SELECT {_COLUMNS} FROM measurements WHERE machine = ? AND runtime = ? AND setting = ?",
            astuple(place),
        )
        with closing(self._open()) as connection:
            queries = [of_place] if keys is None else [_with_keys(*of_place, some) for some in _chunks(keys)]
            for query, arguments in queries:
                for key, answer in map(_read, connection.execute(query, arguments)):
                    if answer is not None:
                        self._known[place].setdefault(key, answer)

    def _write(self, rows: list[tuple[object, ...]]) -> None:
        marks = ", ".join("?" * len(rows[0]))
        with closing(self._open()) as connection, connection:
            connection.executemany(f"INSERT OR REPLACE INTO measurements VALUES ({marks})", rows)


def _connected(path: Path) -> sqlite3.Connection:
    """A file that is open; text in it that is none is read as what is left of it."""
    connection = sqlite3.connect(path, timeout=_WAIT)
    connection.text_factory = lambda text: text.decode("utf-8", "replace")
    return connection


def _check_kind(path: Path) -> None:
    """Raises OSError where SQLite would wait for a pipe, or write to a device, instead of its files."""
    for suffix in ("", "-wal", "-shm", "-journal"):
        file = path.with_name(path.name + suffix)
        if file.exists() and not file.is_file():
            raise OSError(f"{file.name} is no regular file")


def _check_format(connection: sqlite3.Connection) -> None:
    """Raises ValueError where a file is not ours."""
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if (application, version) != (_APPLICATION, FORMAT):
        raise ValueError("no measurements of this release")
    if connection.execute("SELECT type, name, sql FROM sqlite_master").fetchall() != [_DECLARED]:
        raise ValueError("it declares something else than our table of measurements")


def _chunks(keys: list[str]) -> Iterator[list[str]]:
    yield from (keys[start : start + _AT_ONCE] for start in range(0, len(keys), _AT_ONCE))


def _with_keys(query: str, arguments: tuple[str, ...], keys: list[str]) -> tuple[str, tuple[str, ...]]:
    return f"{query} AND key IN ({', '.join('?' * len(keys))})", (*arguments, *keys)


def _row(place: Place, key: str, answer: Measurement | Refusal) -> tuple[object, ...]:
    if isinstance(answer, Refusal):
        return (*astuple(place), key, *(None,) * 6, answer.reason)
    return (*astuple(place), key, *astuple(answer), None)


def _read(row: tuple[object, ...]) -> tuple[str, Measurement | Refusal | None]:
    """A row's key and answer; None for one that makes no sense."""
    key, (*numbers, refusal) = str(row[3]), row[4:]
    if refusal is not None:
        return key, Refusal("".join(c if c.isprintable() else "?" for c in str(refusal)))
    if not all(isinstance(n, (int, float)) and 0 <= n < 1e12 for n in numbers):
        return key, None
    return key, Measurement(*numbers)  # type: ignore[arg-type]
