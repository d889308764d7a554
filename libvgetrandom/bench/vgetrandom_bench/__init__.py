# SPDX-License-Identifier: MIT OR Apache-2.0
"""What random bytes cost by each way to them, side by side in one run.

Workers in C, Go and Rust do the calls; this package builds them, takes turns among
them, and judges the ratios.
"""
