"""A simulated Google Cloud: what `pulumi up` makes there, on this machine, under the rules of the real one.

`provider` speaks with the Pulumi engine; `operations` and `kubernetes_engine` do what it asks for. `rules`
know what Google fills in and refuses, and import nothing of this room but the records of `store`, which keeps
what exists. `nodes` put a kwok cluster behind a Cluster and Node objects behind a NodePool. `faults` are what
a person makes go wrong, `companion` answers Google's APIs over HTTP, and `lifecycle` and `verb` serve the
sandbox and its users.
"""
