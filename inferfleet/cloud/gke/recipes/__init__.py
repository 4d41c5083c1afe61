"""What Google would refuse of a class or pool once its cluster is there and billed, or take and not do.

What the first call of an update says itself, of networks and clusters, does not belong here. One module per
subject; a rule yields findings, with reason and source, and `check` makes them problems.
"""
