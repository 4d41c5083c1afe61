"""Pod templates: what the team wrote and what serving and hardware need besides.

Values in, dicts out; problems name the field of the team's template.
"""
