"""From the allow-list of a stack to a registry: finds plugins of others, and imports those that are named.

The only room that imports code of others; `desired` takes the registry as a value. A plugin belongs
elsewhere: in the folder `plugins` of a project, or in a package of its own.
"""

from inferfleet.plugins.loading.load import BUILT_IN, BUILT_IN_ONLY, found_plugins, registered

__all__ = ["BUILT_IN", "BUILT_IN_ONLY", "found_plugins", "registered"]
