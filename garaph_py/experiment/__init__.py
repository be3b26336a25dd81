"""Experiments: what a TOML file says is run, repeated and written down. The format: docs/experiments.md."""

from .measure import run
from .spec import Spec, read

__all__ = ["Spec", "read", "run"]
