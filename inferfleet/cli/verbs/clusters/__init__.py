"""Verbs that ask clusters something of their own: what they have for pools, what a model there answers.

Verbs that compare clusters with what is desired (`status`, `doctor`) are with the others.
"""
