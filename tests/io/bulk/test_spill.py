"""Temporary files: parts that are given back, and filesystems whose sectors are larger than the reads."""

import errno
import os
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from garaph_py.io.bulk.runs import READERS
from garaph_py.io.bulk.spill import LIBC, PAGE, SECTOR, SpillFile, forgets, seconds_to_write
from garaph_py.system.memory import on_own_pages


def test_what_is_forgotten_leaves_the_disk(tmp_path):
    assert forgets(tmp_path)
    spill, written = SpillFile(tmp_path), np.arange(8 * PAGE, dtype=np.uint32).view(np.uint8)
    spill.append(written)
    os.fsync(spill._handle)
    before = os.fstat(spill._handle).st_blocks
    for start, stop in ((10, 3 * PAGE + 5), (3 * PAGE + 5, 5 * PAGE - 1), (5 * PAGE - 1, 6 * PAGE)):
        spill.forget(start, stop)
    assert os.fstat(spill._handle).st_blocks == before - 6 * PAGE // 512
    assert np.array_equal(spill.read(np.empty(2 * PAGE, np.uint8), 6 * PAGE), written[6 * PAGE : 8 * PAGE])
    spill.close()


def test_a_filesystem_that_keeps_all_is_noticed(tmp_path, monkeypatch):
    monkeypatch.setattr(LIBC, "fallocate", lambda *arguments: -1)
    assert not forgets(tmp_path)


def test_a_disk_is_tried(tmp_path):
    few, many = seconds_to_write(tmp_path, 1 << 20), seconds_to_write(tmp_path, 1 << 34)
    assert 0 < few < many
    assert seconds_to_write(tmp_path, 0) == 0


def test_reads_that_fail_at_the_same_time_all_use_the_page_cache(tmp_path, monkeypatch):
    spill, written = SpillFile(tmp_path), on_own_pages(PAGE, np.dtype(np.uint8))
    written[:] = np.arange(PAGE) % 251
    spill.append(written)
    spill._direct = True  # also where `tmp_path` allows no O_DIRECT
    together, read, refused = threading.Barrier(READERS), os.preadv, threading.local()

    def read_large_sectors(*arguments):
        if not hasattr(refused, "once"):
            refused.once = True
            together.wait()
            raise OSError(errno.EINVAL, "Invalid argument")
        return read(*arguments)

    monkeypatch.setattr(os, "preadv", read_large_sectors)
    with ThreadPoolExecutor(READERS) as pool:
        parts = [pool.submit(spill.read, np.empty(SECTOR, np.uint8), k * SECTOR) for k in range(READERS)]
        found = np.concatenate([part.result() for part in parts])
    spill.close()
    assert np.array_equal(found, written[: len(found)])
