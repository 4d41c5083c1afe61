"""Pods and a few other objects by Kubernetes' own types: their fields, names and quantities.

`types.json` has the types of the pinned Kubernetes, made by `make schema`. `shape` walks a value by them,
`texts` says what names may be, `security` what the Pod Security Standards forbid; `template` and `objects`
are what others call. A rule belongs here if a new cluster would say it only once nodes are billed, or not at
all; what else an API server refuses it says itself.
"""
