"""The value of a digest, in parts. As JSON its fields have the same names, and its schema has these texts.

Only values belong here; how they come about is in the room around.
"""
