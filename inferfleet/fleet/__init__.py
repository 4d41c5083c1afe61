"""What runs where: names, roles, what pods need and nodes offer, the lock, and the plan (`planning.plan`).

Pure functions over documents and lock. How a Kubernetes object looks belongs in `serving`.
"""
