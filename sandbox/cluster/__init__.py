"""One simulated cluster: API server, nodes, addresses, ports, and the programs beside it.

Knows nothing of models; agent, engine and gateway do.
"""
