"""Graph files: their `formats`, `read` and `write`, and `bulk` imports of more edges than memory holds."""
