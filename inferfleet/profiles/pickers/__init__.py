"""What is known of programs that pick endpoints: what the configuration of each may hold, one table a
program, and how much of a node they need, with sources.

Data, its reader and a rule; what is wrong with a configuration is said by `manifests.picker`.
"""
