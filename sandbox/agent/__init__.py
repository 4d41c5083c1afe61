"""The kubelet of a simulated cluster: runs the containers it knows and says in the pods' status what they do.

One process per cluster. What is not known here is left to kwok (see stages.py). What it cannot run it refuses
in the pod's status, and never runs something else instead.
"""
