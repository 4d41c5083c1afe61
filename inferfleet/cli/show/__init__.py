"""What verbs print: tables for people and plain values for machines.

Nothing is decided here.
"""
