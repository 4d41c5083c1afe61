"""A simulated Google Cloud: what `pulumi up` makes there, on this machine, under the rules of the real one.

`provider` speaks Pulumi and knows the fields (inferfleet/gke/facts/schema.json); `rules` know what the API
refuses besides; `store` keeps what exists; `nodes` make a Cluster a kwok cluster and a NodePool its nodes.
"""
