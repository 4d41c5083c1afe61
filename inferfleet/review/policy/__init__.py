"""Policies: what must hold of a plan and its changes, asked of typed values in CEL.

`facts` are the values, `gathered` makes them of what is desired and of what was before, `rules` compiles and
evaluates conditions, and `enforce` makes problems of those that are false, with waivers. Nothing here reads a
file or the clock: the day is told.
"""
