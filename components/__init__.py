"""Pulumi starts here: ComponentResources that register what is desired, and decide nothing.

Only what is about registering belongs here: parent, provider, protect, depends_on, aliases.
"""
