"""A recording of what a process does to files, and the states that a loss of power may leave of them.

A file's data is safe when the file has been synced, and a name when its directory has been. Of the rest a loss of power
leaves anything, as POSIX allows: some sectors of the data that was written, and some of the names that were changed. A
rename takes place as a whole or not at all.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .calls import Call
from .children import TOLD

SECTOR = 512
"""Bytes that a disk writes as a whole."""
ROOT = 0
"""The number of the folder itself. Every file and directory has a number, which it keeps when it is renamed."""
Names = dict[tuple[int, str], int | None]
"""Files and directories by their directory and name; None where there is none any more."""


@dataclass
class Renamed:
    """Names that change in one step."""

    names: Names


@dataclass
class Written:
    """Data written to a file, from an offset on."""

    file: int
    offset: int
    data: bytes


@dataclass
class Synced:
    """A file or a directory has been synced."""

    number: int


@dataclass
class Told:
    """The process has told that something is done for good."""

    what: Any


@dataclass
class Recording:
    """What a process has done to the files in a folder.

    Attributes
    ----------
    names : dict
        The names at the beginning.
    contents : dict of int to bytes
        The files' data at the beginning.
    directories : set of int
        Those that are directories, at the beginning or later.
    steps : list
        What the process did.
    """

    names: Names = field(default_factory=dict)
    contents: dict[int, bytes] = field(default_factory=dict)
    directories: set[int] = field(default_factory=set)
    steps: list[Renamed | Written | Synced | Told] = field(default_factory=list)


class Recorder:
    """Records the calls that it meets; `meet` is for `calls.stand_between`.

    Parameters
    ----------
    folder : Path
        Its files at the beginning are taken to be safe.
    """

    def __init__(self, folder: Path) -> None:
        self._folder, self._turn = os.path.realpath(folder), threading.Lock()
        self.recording = Recording()
        self._names: Names = {}
        self._handles: dict[int, int] = {}
        self._count = ROOT
        numbers = {self._folder: ROOT}
        for parent, directories, files in os.walk(self._folder):
            for name in (*directories, *files):
                path = os.path.join(parent, name)
                numbers[path] = self._new()
                self._names[numbers[parent], name] = numbers[path]
                if name in files:
                    self.recording.contents[numbers[path]] = Path(path).read_bytes()
                else:
                    self.recording.directories.add(numbers[path])
        self.recording.names |= self._names

    def _new(self) -> int:
        self._count += 1
        return self._count

    def meet(self, call: Call) -> Any:
        with self._turn:
            return getattr(self, f"_{call.name}", Call.__call__)(call)

    def _step(self, step: Renamed | Written | Synced | Told) -> None:
        self.recording.steps.append(step)

    def _rename_all(self, names: Names) -> None:
        self._names |= names
        self._step(Renamed(names))

    def _at(self, path: str) -> int | None:
        """The number of what is at a path."""
        number: int | None = ROOT
        for name in Path(path).relative_to(self._folder).parts:
            number = None if number is None else self._names.get((number, name))
        return number

    def _key(self, path: str) -> tuple[int, str]:
        parent, name = os.path.split(path)
        directory = self._at(parent)
        assert directory is not None
        return directory, name

    def _open(self, call: Call) -> int:
        there, handle = self._at(call.path), call()
        assert there is None or not call.arguments[1] & os.O_TRUNC, "nothing is written in place"
        if there is None:
            there = self._new()
            self._rename_all({self._key(call.path): there})
        self._handles[handle] = there
        return handle

    def _mkdir(self, call: Call) -> None:
        call()
        self.recording.directories.add(number := self._new())
        self._rename_all({self._key(call.path): number})

    def _unlink(self, call: Call) -> None:
        call()
        self._rename_all({self._key(call.path): None})

    _rmdir = _unlink

    def _rename(self, call: Call) -> None:
        call()
        self._rename_all({self._key(call.path): None, self._key(call.target): self._at(call.path)})

    _replace = _rename

    def _write(self, call: Call) -> int:
        return self._pwrite(call, os.lseek(call.arguments[0], 0, os.SEEK_CUR))

    def _pwrite(self, call: Call, offset: int | None = None) -> int:
        written = call()
        data = memoryview(call.arguments[1]).cast("B")[:written]
        start = call.arguments[2] if offset is None else offset
        self._step(Written(self._handles[call.arguments[0]], start, bytes(data)))
        return written

    def _fsync(self, call: Call) -> None:
        call()
        self._step(Synced(self._handles[call.arguments[0]]))

    def _print(self, call: Call) -> int:
        for line in bytes(call.arguments[1]).decode().splitlines():
            if line.startswith(TOLD):
                self._step(Told(json.loads(line.removeprefix(TOLD))))
        return call()


class Disk:
    """What is safe on a disk, and what is not yet, after some steps of a recording.

    Attributes
    ----------
    told : list
        What the process had told.
    """

    def __init__(self, recording: Recording, steps: int) -> None:
        self._names, self._contents = dict(recording.names), dict(recording.contents)
        self._directories = recording.directories
        self._renamed: list[Names] = []
        self._written: dict[int, list[Written]] = {}
        self.told: list[Any] = []
        for step in recording.steps[:steps]:
            if isinstance(step, Renamed):
                self._renamed.append(step.names)
            elif isinstance(step, Told):
                self.told.append(step.what)
            elif isinstance(step, Synced):
                self._sync(step.number)
            else:
                self._written.setdefault(step.file, []).append(step)

    def _sync(self, number: int) -> None:
        left = []
        for names in self._renamed:
            if any(directory == number for directory, _ in names):
                self._names |= names
            else:
                left.append(names)
        self._renamed = left
        if number in self._written:
            self._contents[number] = after(self._contents.get(number, b""), self._written.pop(number))

    def lose_power(self, into: Path, chance: random.Random) -> None:
        """Make, in the folder `into`, a state that a loss of power may leave now."""
        share, grows = chance.choice(((0.0, False), (0.0, True), (0.5, True), (1.0, True)))
        self._make(into, some(self._renamed, chance), lambda *file: torn(*file, share, grows, chance))

    def end(self, into: Path) -> None:
        """Make, in the folder `into`, the state that the process has seen itself."""
        self._make(into, self._renamed, after)

    def _make(self, into: Path, renamed: Iterable[Names], left: Callable[[bytes, list[Written]], bytes]) -> None:
        shutil.rmtree(into)
        into.mkdir()
        names = dict(self._names)
        for changed in renamed:
            names |= changed
        waiting = [(ROOT, into)]
        while waiting:
            number, path = waiting.pop()
            for (directory, name), entry in names.items():
                if directory != number or entry is None:
                    continue
                if entry in self._directories:
                    (path / name).mkdir()
                    waiting.append((entry, path / name))
                else:
                    (path / name).write_bytes(left(self._contents.get(entry, b""), self._written.get(entry, [])))


def after(data: bytes, steps: Iterable[Written]) -> bytes:
    """A file's data after all these steps."""
    whole = bytearray(data)
    for step in steps:
        end = step.offset + len(step.data)
        whole.extend(bytes(max(end - len(whole), 0)))
        whole[step.offset : end] = step.data
    return bytes(whole)


def torn(data: bytes, steps: list[Written], share: float, grows: bool, chance: random.Random) -> bytes:
    """A file's data after a loss of power: it is as long as before or longer, and has a share of the new sectors."""
    whole = after(data, steps)
    size = chance.choice((len(whole), chance.randint(*sorted((len(data), len(whole)))))) if grows else len(data)
    left = bytearray(data[:size].ljust(size, b"\0"))
    for start in range(0, size, SECTOR):
        if chance.random() < share:
            new = whole[start : min(start + SECTOR, size)]
            left[start : start + len(new)] = new
    return bytes(left)


def some(renamed: list[Names], chance: random.Random) -> list[Names]:
    """Those changes of names that a loss of power leaves: all, none, those up to some moment, or any."""
    how = chance.choice(("all", "none", "first", "any"))
    if how == "first":
        return renamed[: chance.randint(0, len(renamed))]
    return [names for names in renamed if how == "all" or (how == "any" and chance.random() < 0.5)]
