"""Systems on which checkpoints are tested: calls that fail, processes that die at a call, disks that lose writes."""

import errno
import json
import os
import struct

import xxhash

from garaph_py.checkpoint.files import Files

CALLS = (
    "make_directory", "lock_directory", "open", "size", "read", "write", "sync", "close", "rename", "unlink",
    "remove_directory", "distrust", "is_at",
)  # fmt: skip


class Watched(Files):
    """Every call goes through `meet`, which may do something else."""

    def __init__(self):
        self.calls = []

    def meet(self, name, call, *arguments):
        return call(*arguments)


def watched(name):
    def method(self, *arguments):
        self.calls.append(name)
        return self.meet(name, getattr(super(Watched, self), name), *arguments)

    return method


for name in CALLS:
    setattr(Watched, name, watched(name))


class Failing(Watched):
    """The k-th call fails with `number`, or reads and writes one byte if that is None."""

    def __init__(self, k, number):
        super().__init__()
        self.k, self.number = k, number

    def meet(self, name, call, *arguments):
        if len(self.calls) != self.k:
            return call(*arguments)
        if self.number is None:
            if name in ("read", "write"):
                return call(arguments[0], arguments[1][:1], *arguments[2:])
            return call(*arguments)
        if name == "close":  # the handle is gone all the same
            call(*arguments)
        raise OSError(self.number, os.strerror(self.number))


class Crash(BaseException):
    """The process has died."""


class Crashing(Watched):
    """The process dies before the k-th call, or right after it."""

    def __init__(self, k, after):
        super().__init__()
        self.k, self.after, self.handles = k, after, set()

    def meet(self, name, call, *arguments):
        if len(self.calls) > self.k:
            raise Crash
        if len(self.calls) == self.k and not self.after:
            raise Crash
        result = call(*arguments)
        if name in ("open", "lock_directory"):
            self.handles.add(result)
        if name == "close":
            self.handles.discard(*arguments)
        if len(self.calls) == self.k:
            raise Crash
        return result

    def end(self):
        """The system closes what the process has left open."""
        for handle in self.handles:
            os.close(handle)


class Disk(Files):
    """A disk that keeps what was synced; of the rest a `crash` keeps some sectors, and some changes of names.

    Directories have the handle 0.
    """

    SECTOR = 64

    def __init__(self, durable=None):
        self.names = dict(durable or {})
        self.durable = dict(self.names)
        self.changes = []
        self.handles = {}
        self.synced = {}  # contents on the disk, by file
        for file in self.names.values():
            self.synced[id(file)] = bytes(file)

    def make_directory(self, path):
        pass

    def lock_directory(self, path):
        return 0

    def remove_directory(self, path):
        raise OSError(errno.ENOTEMPTY, "not empty")

    def open(self, path, flags):
        if flags & os.O_CREAT:
            assert flags & os.O_EXCL
            assert path not in self.names
            self.names[path] = bytearray()
            self.synced[id(self.names[path])] = b""
            self.changes.append((path, self.names[path]))
        elif path not in self.names:
            raise FileNotFoundError(errno.ENOENT, "none", str(path))
        handle = len(self.handles) + 1
        self.handles[handle] = self.names[path]
        return handle

    def distrust(self, handle):
        return None

    def is_at(self, path, handle):
        return True

    def size(self, handle):
        return len(self.handles[handle])

    def read(self, handle, view, offset):
        data = self.handles[handle][offset : offset + len(view)]
        view[: len(data)] = data
        return len(data)

    def write(self, handle, data):
        self.handles[handle] += data[: 3 * self.SECTOR]
        return min(len(data), 3 * self.SECTOR)

    def sync(self, handle):
        if handle == 0:
            self.durable, self.changes = dict(self.names), []
        else:
            self.synced[id(self.handles[handle])] = bytes(self.handles[handle])

    def close(self, handle):
        pass

    def rename(self, path, target):
        self.names[target] = self.names.pop(path)
        self.changes += [(target, self.names[target]), (path, None)]

    def unlink(self, path):
        if path not in self.names:
            raise FileNotFoundError(errno.ENOENT, "none", str(path))
        del self.names[path]
        self.changes.append((path, None))

    def crash(self, rng):
        """The disk as the next process finds it."""
        names = dict(self.durable)
        for path, file in self.changes:
            if rng.random() < 0.5:
                names[path] = file
        return Disk({path: self.left(file, rng) for path, file in names.items() if file is not None})

    def left(self, file, rng):
        """Some sectors of what was not synced, in a file that is anything between as long as before and as now."""
        synced = self.synced[id(file)]
        left = bytearray(file[: rng.integers(len(synced), len(file) + 1)])
        for start in range(0, len(left), self.SECTOR):
            sector = slice(start, start + self.SECTOR)
            if rng.random() < 0.5:
                left[sector] = (synced[sector] + bytes(self.SECTOR))[: len(left[sector])]
        return left


def forge(path, change, version=2):
    """Change the header of a checkpoint, as its JSON or its bytes, and make its size and checksum fit."""
    data = path.read_bytes()
    length = int.from_bytes(data[12:16], "little")
    header = change(json.loads(data[32 : 32 + length]))
    header = header if isinstance(header, bytes) else json.dumps(header).encode()
    size = len(data) - length + len(header)
    begin = data[:8] + struct.pack("<IIQ", version, len(header), size)
    path.write_bytes(begin + struct.pack("<Q", xxhash.xxh3_64_intdigest(begin + header)) + header + data[32 + length :])


def ticking(call, tick):
    """`call`, which calls `tick` first."""

    def method(*arguments):
        tick()
        return call(*arguments)

    return method
