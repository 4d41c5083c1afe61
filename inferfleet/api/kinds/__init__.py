"""One strict model per kind of document, its parts, and the settings of a stack.

A rule belongs here if one document can break it alone. No file is read here.
"""
