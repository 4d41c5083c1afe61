"""Versioned defaults of other people's software: API groups, images, flags and ports, as tables.

Versions, images, flags and ports of other software are here and nowhere else, but for what a single built-in
plugin uses, which is in that plugin. Nothing is decided here.
"""
