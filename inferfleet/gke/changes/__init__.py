"""What an update does to clusters and pools that stand: compared with placement.lock, told, or refused.

What a change of a field does is in `facts`; here it meets a stack.
"""
