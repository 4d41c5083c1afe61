"""What people are told beyond a finished plan: reasons in short, the smallest fix, the next best spot, and
which replicas should leave where they are. Nothing here decides where a replica runs.
"""
