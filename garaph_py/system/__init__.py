"""The machine and the operating system: memory, files, limits, signals, speeds."""
