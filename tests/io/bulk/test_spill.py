"""Temporary files on filesystems whose sectors are larger than the reads."""

import errno
import os
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from garaph_py.io.bulk.runs import READERS
from garaph_py.io.bulk.spill import PAGE, SECTOR, SpillFile
from garaph_py.system.memory import on_own_pages


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
