"""What an update needs of machines, projects and clusters, looked at before it costs money.

Here belong checks of `inferfleet doctor` that no preview makes. It asks and changes nothing.
"""
