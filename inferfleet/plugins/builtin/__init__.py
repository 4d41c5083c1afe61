"""The plugins that inferfleet brings, each a function of a template and a request.

A new plugin is a module here and an entry in `plugins.registry`.
"""
