"""What Google would refuse of a class or pool, with reason and source, before anything is asked of it.

One module per subject; a rule yields findings and `check` makes them problems.
"""
