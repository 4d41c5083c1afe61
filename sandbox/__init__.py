"""A whole fleet on a laptop: simulated GPU nodes under a real Kubernetes API, and the tools it needs.

Nothing imports this but the CLI's `sandbox` verb and the end-to-end tests. Decisions about the fleet
belong in `inferfleet/`; here belongs what stands in for hardware, clouds and installed programs.
"""
