"""Edits to a generated pod template: the chain, the registry, scope, and the built-in plugins.

A plugin is a function over one template; it never knows its siblings. One module per plugin.
"""
