"""Versioned defaults of other people's software: API groups, images, flags and ports, as tables.

Versions, images, flags and ports of other software are here and nowhere else. Nothing is decided here.
"""
