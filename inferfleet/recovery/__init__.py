"""After an update that was killed: what it left behind, what is to be done about it, and doing it.

Decisions are pure. Only `work` changes anything: it runs commands of `pulumi` and removes half-written files.
"""
