"""Plugin network-fabric: pods on the network between the GPUs of different nodes.

`plugin` has its config, and decides which fabric it is; each fabric has a module, and `interfaces` has what
two of them share. Images, paths and settings of Google's are in `gpudirect.py`.
"""
