"""After an update that was killed: what it left, what is to be done, and doing it.

Decisions are pure; `work` alone changes anything, by commands of `pulumi`.
"""
