"""From recipes to exact settings of Google Cloud: machines, rules, networks, clusters, pools, changes.

Pure functions over documents, lock and plan. What registers the settings with Pulumi belongs in `components`.
"""
