"""From the allow-list of a stack to a registry: finds plugins of others, and imports those that are named.

The only room that imports code of others; `desired` takes the registry as a value. A plugin belongs
elsewhere: in the folder `plugins` of a project, or in a package of its own.
"""

from inferfleet.plugins.loading.load import found_plugins, outside_allowed, registered

__all__ = ["found_plugins", "outside_allowed", "registered"]
