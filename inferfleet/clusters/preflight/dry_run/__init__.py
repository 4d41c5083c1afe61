"""What API servers say of the objects that an update would write, before it writes any.

Here belongs which objects are shown to them, and what their answers mean; what they would not say does not.
"""
