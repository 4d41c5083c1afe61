"""One module per verb of `inferfleet`: reads options, calls the rooms below, ends with an exit code.

Imported only when its verb is called.
"""
