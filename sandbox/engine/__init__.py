"""Plays the model servers of a simulated cluster: one process that answers on the address of many pods.

What belongs here: how an engine reads its arguments, queues, answers, fails and reports its metrics. What
does not: when a pod starts or stops, and whether it is ready; the cluster's agent decides that, by probes.
"""
