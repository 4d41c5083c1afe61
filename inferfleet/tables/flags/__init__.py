"""Flags of engines, version by version: tables that `make tables` writes by asking the engines' own parsers.

They are read by `table`, and words of a command line by `reading`. No table is written by hand.
"""
