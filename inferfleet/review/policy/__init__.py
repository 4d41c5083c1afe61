"""Policies: what must hold of a plan and its changes, asked of typed values in CEL.

`facts` are the values, `subjects` makes them of what is desired and of what was before, `conditions` compiles
and evaluates CEL, and `enforcement` makes problems of conditions that are false, with waivers. Nothing here
reads a file or the clock: the day is an argument.
"""
