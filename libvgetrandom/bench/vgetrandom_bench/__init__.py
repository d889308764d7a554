# SPDX-License-Identifier: MIT OR Apache-2.0
"""What random bytes cost from each source, side by side in one run.

Workers in C, Go and Rust make the calls; this package builds them, runs them in turn,
and judges the ratios.
"""
