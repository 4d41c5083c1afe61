"""What teams may ask of placement, and how much they may take: spread, preferences, quotas.

How these are counted is in `fleet/placement`; here is what a person writes and which values make sense.
"""
