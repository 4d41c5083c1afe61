"""The programs the sandbox runs: found on the PATH, in the per-user cache, or built from pinned Go modules.

One folder per part with the go.mod and the complete go.sum of its build. A new part is a folder and an
entry in `parts.py`; nothing else knows how a part is made.
"""
