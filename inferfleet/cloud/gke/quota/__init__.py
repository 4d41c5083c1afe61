"""What an update takes of Google's quotas and reservations, and whether they are large enough. Pure.

The answers of Google come in as values; `preflight` asks.
"""
