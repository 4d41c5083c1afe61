"""One module per verb of `inferfleet`: reads options, calls the rooms below, prints, ends with an exit code.

It is imported only when its verb is called. What a verb prints is in its module, or in one beside it that has
its name.
"""
