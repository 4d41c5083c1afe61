"""What people are told of a finished plan: problems, the smallest fix, what stops answering, and all of it in
short.

Nothing here decides where a replica runs.
"""
