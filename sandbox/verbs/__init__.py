"""What people ask of a sandbox: `inferfleet sandbox` and what its verbs show.

The sandbox itself is made in the rooms beside.
"""
