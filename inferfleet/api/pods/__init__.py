"""Pods and a few other objects as Kubernetes' API server sees them: their fields, types and values.

`pod_types.json` and `object_types.json` are the types of the pinned Kubernetes, made by `make schema`.
`shape` walks a value by them, `texts` and `limits` hold what single fields may be, by definition, and one
module each has the rules of containers, volumes, resources, scheduling, whole pods and other objects.
`template` and `objects` are what others call. A rule belongs here if the API server would refuse an object
for it, whoever wrote it.

Source of the rules: pkg/apis/core/validation in k8s.io/kubernetes, of the version that the tables name.
"""
