"""Imports of more edges than memory holds: scan, distribute, sort, write."""
