"""What Google would refuse of a class, a pool or a cluster once it is there and billed, or take and not do.

What the first call of an update says itself, of networks and clusters, does not belong here. A rule yields
what is wrong with reason, source and certainty, and `check` makes problems of it.
"""
