"""Where replicas go: which pools suit them, what fits, what is kept, and the reasons in words.

Pure functions over documents and lock; `fleet.planning` calls them in order.
"""
