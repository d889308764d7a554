// SPDX-License-Identifier: MIT OR Apache-2.0
module vgetrandom-bench-peers

go 1.24
