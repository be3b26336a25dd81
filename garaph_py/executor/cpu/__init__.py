"""The CPU kernel."""

from .executor import CpuExecutor

__all__ = ["CpuExecutor"]
