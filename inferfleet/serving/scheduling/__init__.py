"""What schedulers other than Kubernetes' own, and GKE's autoscaler, are told: marks, PodGroups, requests.

It works on finished workloads, so sizes are those of final templates. How pods look otherwise is for
`manifests.pod`, and which scheduler it is for `fleet.scheduling`.
"""
