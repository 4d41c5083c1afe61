"""Edits to a generated pod template: the chain, the registry, scope, and the built-in plugins.

A plugin is a function over one template; it never sees other plugins. One module per plugin.
"""
