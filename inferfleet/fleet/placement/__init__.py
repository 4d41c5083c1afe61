"""Where replicas go: what suits them, what fits, what stays, and the reasons in words.

Pure functions over documents and lock; `fleet.planning` calls them in order.
"""
