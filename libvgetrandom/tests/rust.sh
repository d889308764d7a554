#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
# Description: the Rust crate's own tests, with all its features and without std.
#
# Argument: the folder for what cargo builds. CARGO_TARGET_DIR takes precedence.
set -eu

crate=$(dirname "$0")/../rust
command -v cargo >/dev/null || {
	echo "cannot run: cargo is missing (Debian 12: package cargo-web; Debian 13: cargo)"
	exit 77
}
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$1}"
cargo test --locked --all-features --manifest-path "$crate/Cargo.toml"
cargo run --locked --package vgetrandom-no-std --profile no-std \
	--manifest-path "$crate/Cargo.toml"
