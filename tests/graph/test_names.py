"""A hash table of strings, in which kernels and Python look up names."""

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from garaph_py.graph import names, objects
from garaph_py.graph.names import names_of
from garaph_py.graph.networkx import looked_up
from garaph_py.graph.nodes import Nodes
from garaph_py.graph.objects import Objects
from tests.support.objects import launched, reader

TEXTS = st.text(st.characters(exclude_categories=()), max_size=60)


class Letter(str):
    __slots__ = ()


def copied(text):
    """An equal string that is another object, if there can be one."""
    return "".join([text[:1], text[1:]])


@pytest.mark.usefixtures("_way")
def test_names_are_found_whatever_objects_they_are():
    nodes = ["", "a", "b" * 70, "\xe9", "\u0416\u0416", "\U0001f600", "\udc80", *map(str, range(3000))]
    rows = [{copied(node): {}} for node in reversed(nodes)] + [dict.fromkeys(nodes)]
    expected = [*reversed(range(len(nodes))), *range(len(nodes))]
    assert looked_up(reader(rows), Nodes(nodes)).tolist() == expected
    assert [names_of(nodes).find(copied(node)) for node in nodes] == list(range(len(nodes)))


@pytest.mark.usefixtures("_way")
@pytest.mark.parametrize("key", ["c", "", "aa", Letter("a"), 1, 2.5, b"a", ("a",), None])
def test_keys_that_are_no_names_are_for_python(key):
    assert looked_up(reader([{"a": {}}, {key: {}}]), Nodes(["a", "b"])) is None


@pytest.mark.usefixtures("_way")
@pytest.mark.parametrize("nodes", [["a", 1], ["a", Letter("b")], [1, "a"], [1.5], []])
def test_only_strings_make_a_table(nodes):
    assert Nodes(nodes).names is None


@pytest.mark.parametrize("colliding", [0xFFFFFFFF, 0, -1 << 32])
def test_equal_hashes_do_not_make_strings_equal(colliding, monkeypatch):
    """In Python, with hashes of which only some bits differ, or none."""
    nodes = [f"n{k}" for k in range(50)]
    hashes = {id(node): (hash(node) & colliding) | 1 for node in nodes}

    def word_at(address, index):
        return hashes[address] if index == names.HASH_WORD and address in hashes else objects.word_at(address, index)

    monkeypatch.setattr(names, "word_at", word_at)
    monkeypatch.setattr(names, "has_hashes", lambda: True)
    monkeypatch.setattr(Objects, "launched", launched)
    found, given = names_of(nodes), objects.items_of(nodes)
    for k, node in enumerate(nodes):
        assert names.vertex_of(objects.interface(), id(node), given, found.slots, len(found.slots) - 1) == k


def test_hashes_are_where_they_are_read():
    texts = ["".join(["text", str(k)]) for k in range(9)]  # nobody has asked for their hashes
    assert [objects.word_at(id(text), names.HASH_WORD) for text in texts] == [-1] * 9
    assert names_of(texts) is None
    assert len(set(texts)) == 9
    assert names_of(texts).find("text5") == 5
    assert names.has_hashes.__wrapped__()


@pytest.mark.parametrize("lacks", ["its lock", "a known version"])
def test_a_python_without_these_looks_up_names_itself(lacks, monkeypatch):
    if lacks == "its lock":
        monkeypatch.setattr(sys, "_is_gil_enabled", lambda: False, raising=False)
    else:
        monkeypatch.setattr(objects, "LAST_KNOWN", (3, 0))
    nodes = Nodes(["a", "b"])
    assert nodes.names is None
    assert nodes.find("b") == 1


@given(st.lists(TEXTS, unique=True, min_size=1), TEXTS)
def test_every_text_is_found(nodes, other):
    places = Nodes(nodes)
    rows = [dict.fromkeys(nodes[k:]) for k in range(0, len(nodes), 5)]
    assert looked_up(reader(rows), places).tolist() == [nodes.index(node) for row in rows for node in row]
    assert [places.find(copied(node)) for node in nodes] == list(range(len(nodes)))
    assert places.find(other) == (nodes.index(other) if other in nodes else None)
