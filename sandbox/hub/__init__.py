"""A stand-in for the Hugging Face Hub: repositories as folders, the requests for them, and faults.

It answers what `huggingface_hub` asks of a hub without Xet: the tree of a commit, the commit of a branch, and
files in parts. It counts what it is asked.
"""
