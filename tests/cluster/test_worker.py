"""What a worker does with calls that come late."""

import asyncio

import numpy as np
import pytest

from garaph_py.cluster.worker import Hosting
from garaph_py.errors import ClusterError
from tests.support.numpy_parts import NumpyParts, NumpyRun, places

RING = 10, np.arange(10), np.roll(np.arange(10), 1)


def piece(epoch, content, first, length=4):
    return {"epoch": epoch, "part": 0, "name": "x", "content": np.array(content), "length": length, "first": first}


def hosting(parts=1):
    return Hosting(NumpyRun, places, parts, "here", None)


async def send_all(hosting, epoch, part=0):
    for name, array in NumpyParts(*RING, 1).arrays(part).items():
        whole = {"name": name, "content": array, "length": len(array), "first": 0}
        await hosting.do("array", {"epoch": epoch, "part": part, **whole})


def test_a_late_first_piece_does_not_undo_later_ones():
    async def work():
        here = hosting()
        await here.do("array", piece(1, [1, 2], 0))
        await here.do("array", piece(1, [3, 4], 2))
        with pytest.raises(ClusterError, match="a call of epoch 0 came in epoch 1"):
            await here.do("array", piece(0, [1, 2], 0))
        assert here._arrays[0]["x"].tolist() == [1, 2, 3, 4]

    asyncio.run(work())


@pytest.mark.parametrize(
    ("what", "data"),
    [("go", {}), ("load", {"superstep": None}), ("connect", {"addresses": ["there"], "neighbour": None})],
)
def test_late_calls_are_ignored(what, data):
    async def work():
        here = hosting()
        await send_all(here, 0)
        await here.do("connect", {"epoch": 0, "addresses": ["here"], "neighbour": None})
        await here.do("load", {"epoch": 0, "superstep": None})
        await here.do("halt", {"epoch": 1})
        await here.do("load", {"epoch": 1, "superstep": None})
        with pytest.raises(ClusterError, match="a call of epoch 0 came in epoch 1"):
            await here.do(what, {"epoch": 0, **data})
        assert not here._hosts[0].records  # nothing has begun
        await here.do("go", {"epoch": 1})
        while here._hosts[0].finished is None:
            await asyncio.sleep(0.01)
        assert (await here.do("report", {"epoch": 1, "part": 0})).tolist() == [0] * 10
        await here.close()

    asyncio.run(asyncio.wait_for(work(), 60))


def test_a_load_gives_way_to_a_new_epoch():
    async def work():
        here = hosting()
        await send_all(here, 0)
        await here.do("connect", {"epoch": 0, "addresses": ["here"], "neighbour": None})
        loading = asyncio.create_task(here.do("load", {"epoch": 0, "superstep": None}))
        await asyncio.sleep(0)
        await here.do("halt", {"epoch": 1})
        with pytest.raises(ClusterError, match="a call of epoch 0 came in epoch 1"):
            await loading
        await here.close()

    asyncio.run(work())


def test_a_part_that_is_not_there_is_told():
    async def work():
        here = hosting(2)
        await send_all(here, 0)
        with pytest.raises(ClusterError, match="the worker here lacks part 1 of the graph"):
            await here.do("connect", {"epoch": 0, "addresses": ["here", "here"], "neighbour": None})

    asyncio.run(work())
