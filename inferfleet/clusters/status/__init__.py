"""Does what is desired serve, and is it as the documents say? Reads only.

Phases are decided from values; only `read` asks clusters and Google.
"""
