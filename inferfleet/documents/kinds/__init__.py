"""One strict model per kind of document, its parts, and the settings of a stack.

A rule belongs here if a single document can break it. No file is read here.
"""
