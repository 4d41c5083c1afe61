"""The plugin `gcp` as the Pulumi engine calls it: `python -m sandbox.gcp.provider <stack folder>`.

What belongs here: the engine's protocol, and what the real Pulumi provider does by itself before and after it
asks Google: settings, defaults, checks of fields, comparison of inputs with the state, imports. What does
not: what Google accepts, fills in and does; these are `rules` and `operations`.
"""
