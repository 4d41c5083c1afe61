"""Edits to generated pod templates by plugins: functions of one template that never see other plugins.

`api` is all that a plugin imports, and `contract` says what a plugin is. `link` binds one that a document
names to its config and runs it, by `calling`; `chain` runs all links over a template, held to `guard` and
`companions`. `registry` has the plugins that documents may name; `loading` alone imports code of others.
"""
