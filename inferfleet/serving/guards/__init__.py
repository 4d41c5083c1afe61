"""Who may reach the pods of a deployment, and how many of them a drain may take at a time.

Nothing here changes pods: these objects come and go beside pods that run on.
"""
