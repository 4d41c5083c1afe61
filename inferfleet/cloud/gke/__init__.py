"""Google Kubernetes Engine: recipes and documents checked, exact settings, changes, quotas, drift.

Pure functions over documents, lock and plan. `provider` answers what others ask; who asks Google over the
network reads more. What registers the settings with Pulumi belongs in `components`.
"""
