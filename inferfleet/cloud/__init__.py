"""The clouds in which clusters are created, one package each.

What a cloud alone decides stays inside of its package.
"""
