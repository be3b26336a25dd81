import json

import garaph_py as gp
from tests.support.command import garaph


def test_a_graph_in_parts(monkeypatch, capsys, tmp_path):
    gp.save(gp.rmat(8, seed=1), tmp_path / "g")
    parts = tmp_path / "parts"
    assert garaph(monkeypatch, "partition", tmp_path / "g", parts, "--parts", 2, "--quiet") == 0
    printed = capsys.readouterr().out.splitlines()
    assert printed[0] == f"{parts}: 256 vertices, 4,096 directed edges, in 2 parts"
    assert printed[1].split() == ["part", "vertices", "mirrors", "edges"]
    assert garaph(monkeypatch, "info", parts, "--json") == 0
    document = json.loads(capsys.readouterr().out)
    assert sum(part["vertices"] for part in document["parts"]) == document["vertices"] == 256
    assert sum(part["edges"] for part in document["parts"]) == document["edges"] == 4096
    assert [line.split() for line in printed[2:]] == [
        [str(number), *(f"{part[name]:,}" for name in ("vertices", "mirrors", "edges"))]
        for number, part in enumerate(document["parts"])
    ]
    assert garaph(monkeypatch, "verify", parts, "--quiet") == 0
    assert capsys.readouterr().out == f"{parts}: whole\n"
    assert garaph(monkeypatch, "run", "BFS", parts, "--source", 0, "--quiet") == 1
    assert "are in parts, which the workers of a cluster read" in capsys.readouterr().err
    assert garaph(monkeypatch, "partition", tmp_path / "g", parts, "--parts", 2) == 1
    assert "already exists" in capsys.readouterr().err
