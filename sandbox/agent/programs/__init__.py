"""The real programs of containers: which image has which, and what one needs to run as its manifest says.

Stand-ins are started in `engines.py` of the room above.
"""
