"""What Google would refuse of a class or pool once its cluster is there and billed, with reason and source, or
take and not do; what the first call of an update says itself, of networks and clusters, does not belong here.

One module per subject; a rule yields findings and `check` makes them problems.
"""
