"""Objects that plugins add beside a workload: what they may be, and which of them its pods read.

They are in the workload's namespace and have a name made from its own. What runs pods, what belongs to a
whole cluster and what holds secrets comes from the stack, where it is planned and checked. Nothing of how
they are registered belongs here: that is `desired`.
"""
