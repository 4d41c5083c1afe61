"""What teams ask of placement: spread, preferences, capacity models, quotas, and the order of pools by these.

What suits a deployment by its hardware is in `suitability`, what has room in `rooms`; here is which of that
comes first, and what no new replica may take. Replicas that run are not its subject.
"""
