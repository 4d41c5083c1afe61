"""What schedulers other than Kubernetes' own are told: marks of workloads, PodGroups, what must exist.

It works on finished workloads, so sizes are those of final templates. How pods look otherwise is for
`manifests.pod`, and which scheduler it is for `fleet.scheduling`.
"""
