"""The `inferfleet` command, one module per verb. Reads files and the environment, prints, exits.

What a verb would have to decide is a function of a room below.
"""
