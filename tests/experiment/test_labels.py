"""How figures call things."""

from __future__ import annotations

from garaph_py.experiment.labels import label_of, number, published, short, shown


def test_names() -> None:
    assert shown("mean_factor") == "mean replication factor"
    assert shown("total_seconds") == "total seconds"
    assert short("../../data/debian-sid-deps.tsv.xz") == "debian-sid-deps"
    assert short("data/web.npz:symmetric") == "web:symmetric"
    assert short("rmat:16:16:weights=1..64") == "rmat:16:16:weights=1..64"
    assert label_of({"graph": "a/b.tsv", "threads": 2}, ("graph", "threads")) == "b, 2"


def test_values_that_say_nothing_alone_have_the_name_of_their_column() -> None:
    row = {"device": "gpu", "gpu_memory": None, "work_items": False}
    assert label_of(row, ("device", "gpu_memory", "work_items")) == "gpu, default gpu memory, work items no"
    assert label_of(row | {"gpu_memory": "1/4", "work_items": True}, tuple(row)) == "gpu, 1/4, work items yes"


def test_numbers() -> None:
    assert [number(value) for value in (41e6, 12.0, 2.0, 0.01234, 1335.29)] == [
        "41,000,000",
        "12",
        "2",
        "0.0123",
        "1,335",
    ]


def test_published_numbers_keep_their_digits() -> None:
    assert [published(value) for value in (1335.29, 39.69, 0.16, 34e9)] == [
        "1,335.29",
        "39.69",
        "0.16",
        "34,000,000,000",
    ]
