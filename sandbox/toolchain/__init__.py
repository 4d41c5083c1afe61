"""The programs the sandbox runs: found on the PATH, in the per-user cache, or built from pinned Go modules.

Each part has a folder with the go.mod and the complete go.sum of its build, and an entry in `parts.py`.
Nothing else knows how a part is made.
"""
