#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
# Description: tests each path's output with rngtest, ent and dieharder.
#
# Arguments: the program statistics_stream; "long", without which only ent tests a little. The
# long form takes about half an hour and reads 1 GiB and more of each path.
set -eu

stream=$1
long=${2-}

for tool in ent ${long:+rngtest dieharder}; do
	command -v "$tool" >/dev/null || {
		echo "cannot run: $tool is missing (packages ent, rng-tools5, dieharder)"
		exit 77
	}
done

# The tests that dieharder itself calls good, except those that take too long: 200, 201, 203.
tests="0 1 2 3 4 8 9 10 11 12 13 15 16 17 100 101 102 202 204 205 206 207 208 209"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failed=0

fail() {
	echo "FAILED: $*"
	failed=1
}

# A block of 20,000 bits fails by chance with 0.0008; more than $3 failures have a chance below 1e-7.
check_rngtest() {
	"$stream" "$1" "$2" 2>"$scratch/log" | rngtest >"$scratch/rngtest" 2>&1 || true
	blocks=$(sed -n 's/.*FIPS 140-2 successes: //p' "$scratch/rngtest")
	bad=$(sed -n 's/.*FIPS 140-2 failures: //p' "$scratch/rngtest")
	echo "$1: rngtest, $2 MiB: $bad of $((blocks + bad)) blocks failed, at most $3 may"
	[ "$bad" -le "$3" ] || fail "$1: rngtest"
}

# Checks the distribution of bytes. ent prints the share of random sequences that exceed this one's
# chi-square, but no share below 0.01 % or above 99.99 %, so check chi-square itself: with 255 degrees
# of freedom, it is below 140 or above 397 with a chance of less than 1e-7 each.
check_ent() {
	chi=$("$stream" "$1" "$2" 2>"$scratch/log" | ent -t | sed -n 's/^1,\([^,]*,\)\{2\}\([^,]*\),.*/\2/p')
	echo "$1: ent, $2 MiB: chi-square of bytes $chi, allowed are 140 to 397"
	awk "BEGIN { exit !($chi > 140 && $chi < 397) }" || fail "$1: ent"
}

# By its own words, dieharder calls one in a hundred good results WEAK, and one in a million FAILED.
check_dieharder() {
	for number in $tests; do
		"$stream" "$1" 2>>"$scratch/drawn" | dieharder -g 200 -d "$number" -c ' '
	done | grep -E 'PASSED|WEAK|FAILED' | sed "s/^/$1: /" | tee "$scratch/dieharder"
	drawn=$(sed -n 's/.*: \([0-9]*\) MiB drawn/\1/p' "$scratch/drawn" | awk '{ sum += $1 } END { print sum }')
	echo "$1: dieharder, $drawn MiB: $(grep -c PASSED "$scratch/dieharder") passed," \
		"$(grep -c WEAK "$scratch/dieharder") weak, $(grep -c FAILED "$scratch/dieharder") failed"
	! grep -q FAILED "$scratch/dieharder" || fail "$1: dieharder"
	rm "$scratch/drawn"
}

for path in pass-through bulk batch; do
	if [ "$long" ]; then
		check_rngtest "$path" 1024 500
		check_ent "$path" 1024
		check_dieharder "$path"
	else
		check_ent "$path" 8
	fi
done
exit "$failed"
