"""A simulated Google Cloud: what `pulumi up` makes there, on this machine, under the rules of the real one.

check, diff and merge know the fields (inferfleet/gke/schema.json); rules_* know what the API refuses besides;
store keeps what exists; kube makes a Cluster a kwok cluster and a NodePool its nodes; provider speaks Pulumi.
"""
