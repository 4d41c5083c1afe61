"""What several verbs print: tables, manifests as text, and a plan.

Nothing is decided here.
"""
