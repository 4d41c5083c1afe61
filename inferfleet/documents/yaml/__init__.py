"""YAML text to plain data with the line of every field, within limits that hostile text cannot exceed.

It knows nothing of documents: what the data means is decided in `kinds` and `loading`.
"""
