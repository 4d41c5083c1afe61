"""YAML text to plain data with the line of every field, harmless for hostile text.

Knows nothing of documents: what the data means is for `kinds` and `loading` to say.
"""
