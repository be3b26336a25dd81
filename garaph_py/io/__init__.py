"""Graph files: `formats` (readers and writers), `read`, `write`, and `bulk` (imports of more edges than memory holds)."""
