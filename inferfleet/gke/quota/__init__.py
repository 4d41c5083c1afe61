"""What an update takes of Google's quotas and reservations, and whether they hold it. Pure.

The answers of Google come in as values; `preflight` asks.
"""
