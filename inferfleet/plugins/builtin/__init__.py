"""The plugins that inferfleet brings, each a function of a template and a request.

They import nothing of inferfleet but `plugins.api`, as the plugins of others do. A new plugin is a module
here and an entry in `plugins.registry`.
"""
