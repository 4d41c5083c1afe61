"""What an update does to existing clusters and pools: compared with placement.lock, announced or refused.

What a change of a field does is in `facts`; here it meets a stack.
"""
