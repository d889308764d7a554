"""Boots, workloads and proofs on a machine."""
