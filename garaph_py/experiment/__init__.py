"""Experiments: repeated measurements that a TOML file describes. "Experiments" in the documentation describes it."""

from .measure import run
from .spec import Spec, read

__all__ = ["Spec", "read", "run"]
