"""Other libraries for `scripts/bench_library.py`: one module each, named like the library.

A module has `VERSION`; `load`, which makes the library's graph of `edges.Edges`; and `CALLS`, which maps the name of a
function of `garaph_py.algorithms` to a `edges.Call`.
"""
