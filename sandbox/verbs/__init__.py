"""The verbs of `inferfleet sandbox`: what people ask of a sandbox, and how it is printed.

Here belongs what reads a sandbox for people and talks to them: arguments, tables, messages. How clusters are
made and stopped belongs to `sandbox/clusters.py`; the verbs of the simulated cloud are in
`sandbox/gcp/verb.py`.
"""
