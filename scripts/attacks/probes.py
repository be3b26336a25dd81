"""Which branches of the package have run: probes that an import hook inserts into the source of modules.

It works on every Python, because it changes the syntax tree and not the bytecode, and costs one store for a branch.
"""

from __future__ import annotations

import ast
import importlib.machinery
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any

SEEN = bytearray(1 << 15)
"""A byte for each probe: 1 once the branch has run. The package has some 3,000 branches."""
LONGEST_TOKEN = 24
"""Most bytes of a constant of the source that may stand in a file; longer ones are parts of messages."""
TOKENS: set[bytes] = set()
"""The constants of the modules that have probes, as they may stand in a file: words, keys, magic numbers."""
COMPILED = b"Kernel("
"""Modules with this text have functions that are compiled to machine code, so that no Python may be added to them."""


class Inserter(ast.NodeTransformer):
    """Adds a probe to every function, branch, loop, handler, operand of ``and`` and ``or``, and part of ``x if y``."""

    count = 0

    def statement(self) -> ast.stmt:
        return ast.parse(f"__seen__[{self.number()}] = 1").body[0]

    def number(self) -> int:
        Inserter.count += 1
        return Inserter.count - 1

    def probed(self, value: ast.expr) -> ast.expr:
        """``(__seen__.__setitem__(number, 1) or value)``."""
        probe = ast.parse(f"__seen__.__setitem__({self.number()}, 1)", mode="eval").body
        return ast.BoolOp(ast.Or(), [probe, value])

    def generic_visit(self, node: ast.AST) -> ast.AST:
        super().generic_visit(node)
        if isinstance(node, ast.If | ast.For | ast.While | ast.Try | ast.ExceptHandler | ast.match_case):
            node.body.insert(0, self.statement())
        if isinstance(node, ast.If):
            node.orelse.insert(0, self.statement())
        if isinstance(node, ast.FunctionDef):
            node.body.insert(0 if ast.get_docstring(node) is None else 1, self.statement())
        if isinstance(node, ast.BoolOp):
            node.values[1:] = map(self.probed, node.values[1:])
        if isinstance(node, ast.IfExp):
            node.body, node.orelse = self.probed(node.body), self.probed(node.orelse)
        if isinstance(node, ast.Constant) and isinstance(node.value, str | bytes):
            token = node.value.encode() if isinstance(node.value, str) else node.value
            if 0 < len(token) <= LONGEST_TOKEN:
                TOKENS.add(token)
        return node


class Loader(importlib.machinery.SourceFileLoader):
    """Compiles a module with probes."""

    def get_code(self, fullname: str) -> Any:
        source = self.get_data(self.path)
        tree = ast.parse(source)
        if COMPILED not in source:
            tree = ast.fix_missing_locations(Inserter().visit(tree))
        return compile(tree, self.path, "exec", dont_inherit=True)

    def exec_module(self, module: ModuleType) -> None:
        vars(module)["__seen__"] = SEEN
        super().exec_module(module)


class Finder(importlib.machinery.PathFinder):
    """Finds the modules whose names begin with one of `prefixes`."""

    prefixes: tuple[str, ...] = ()

    @classmethod
    def find_spec(cls, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> Any:
        spec = super().find_spec(fullname, path, target) if fullname.startswith(cls.prefixes) else None
        if spec is not None and isinstance(spec.loader, importlib.machinery.SourceFileLoader):
            spec.loader = Loader(spec.loader.name, spec.loader.path)
        return spec


def install(*prefixes: str) -> None:
    """Give probes to all modules that are imported from now on and whose names begin so."""
    Finder.prefixes = prefixes
    sys.meta_path.insert(0, Finder)
