"""Experiments: repeated measurements that a TOML file describes. "Experiments" in the documentation describes it."""

from .join import join
from .measure import check_free, is_begun, run
from .spec import Spec, read
from .summary import failures, summary

__all__ = ["Spec", "check_free", "failures", "is_begun", "join", "read", "run", "summary"]
