"""What this run or this machine lacks, asked before an update writes: `observe` for previews, `doctor` for
people. Where both ask the same, it is one function.
"""
