"""From the add-ons that a stack installs to the manifests in its project, by `go` and `helm`.

Here belongs how a module is fetched, how its charts are rendered, and how the project differs from that.
Nothing of it runs in an update, which takes the manifests as they are committed.
"""
