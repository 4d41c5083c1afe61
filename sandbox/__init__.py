"""A whole fleet on a laptop: simulated GPU nodes under a real Kubernetes API, and the tools it needs.

Nothing imports this but the CLI's `sandbox` verb and the end-to-end tests. Here belongs what stands in for
hardware, clouds and installed programs: this folder has what all its rooms share (processes, places, locks)
and what works on all clusters of a stack. Decisions about the fleet belong in `inferfleet/`.
"""
