"""Data that travels between the rooms: plans, boots and a target's records.

Every room may import this one; it imports no other.
"""
