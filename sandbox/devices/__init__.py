"""Devices that pods claim (Dynamic Resource Allocation), as drivers and their controllers would offer them.

Here belongs what a driver publishes and what its controller makes. Who gets a device is decided by the real
kube-scheduler; how a cluster and its nodes come to be is in `cluster/`.
"""
