"""Programs that measure what the parts cost, and print ratios against a reference of the same run.

No test: they assert nothing, need something that runs, and load this machine for a bounded time.
"""
