"""The machine and its operating system: memory, files, limits, signals and speeds."""
