"""Programs that measure what parts of the product cost, or show what a change of the code changes.

They are no tests: they assert nothing. Measurements load this machine for a bounded time and print ratios
against a reference of the same run, because absolute times depend on the machine.
"""
