"""How engines end with their pods: what they are told, whether they hear it, and what is lost then.

What engines do at SIGTERM, with sources, is in `profiles.engines`; which pods are asked, in `manifests.pod`.
"""
