"""What a plan would be if something were lost: other documents and another lock, planned as always.

Nothing here changes a file or asks a cluster.
"""
