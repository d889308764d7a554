"""What travels between the rooms: plans, boots and the records of a target.

Every room may import this one; it imports no other.
"""
