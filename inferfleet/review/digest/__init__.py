"""What changes for people between two versions of a stack: one value, `Digest`. Nobody is asked.

Manifests, settings in Google Cloud and plans of both sides are compared, in the words of plans and updates.
How the value is shown does not belong here.
"""
