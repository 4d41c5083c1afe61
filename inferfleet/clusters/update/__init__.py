"""What happens on the clusters while an update runs: pods are listened to, ready hooks called, and in the end
it is asked whether what was made serves.
"""
