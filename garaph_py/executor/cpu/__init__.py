"""The CPU executor and its kernels."""

from .executor import CpuExecutor

__all__ = ["CpuExecutor"]
