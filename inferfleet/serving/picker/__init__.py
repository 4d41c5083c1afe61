"""The objects of an endpoint picker and its InferencePool, its command line, and what is wrong in documents.

Values in, dicts out.
"""
