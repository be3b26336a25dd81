"""Experiments: repeated measurements that a TOML file describes. docs/experiments.md documents the format."""

from .measure import run
from .spec import Spec, read

__all__ = ["Spec", "read", "run"]
