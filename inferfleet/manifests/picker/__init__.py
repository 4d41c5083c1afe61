"""The objects of an endpoint picker and its InferencePool, and whether its configuration would start.

Values in, dicts out.
"""
