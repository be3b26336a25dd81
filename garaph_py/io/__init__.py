"""Graph files: readers, writers, and imports of more edges than memory holds."""
