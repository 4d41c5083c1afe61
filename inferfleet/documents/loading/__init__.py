"""From files to Documents, or every problem in them at once, each with its file and line.

The only part of `documents` that reads and writes files.
"""
