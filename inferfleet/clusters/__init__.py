"""How clusters and Google are asked: before an update, while it runs, and for people.

By GET requests, but for those that ARCHITECTURE.md names.

What should exist is decided in `desired` and below.
"""
