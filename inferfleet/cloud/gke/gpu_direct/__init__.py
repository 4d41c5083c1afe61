"""What GPUDirect needs inside a GKE cluster beside the pods that use it: networks, and libraries on nodes.

Pods are put on these networks by the plugin network-fabric alone. Tables of images are in `gke/facts`.
"""
