"""The `inferfleet` command, one module per verb. Reads files and the environment, prints, exits.

A verb that works something out wanted to be a function below.
"""
