"""What our recipes render, field by field, beside what the blueprints of Google's Cluster Toolkit set.

Facts about somebody else's repository, in our own words, and the reasons for what differs: data for a page
and its test. The product uses none of it. What Google offers and refuses is in `inferfleet/cloud/gke/facts`.
"""
