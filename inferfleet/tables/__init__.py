"""Data about other people's programs: versions, images, flags, ports; generated, or with source and date.

Versions, images, flags and ports of other software are here and nowhere else, but for what a single built-in
plugin uses, which is in that plugin. Nothing is decided here.
"""
