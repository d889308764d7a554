#!/bin/sh
# merge_config.sh -m -O DIR BASE FRAGMENT...: later lines win.
set -eu
out=$3
shift 3
awk -F'[= ]' '{ name = $1 == "#" ? $2 : $1; line[name] = $0 }
	END { for (name in line) print line[name] }' "$@" | sort > "$out/.config.merged"
mv "$out/.config.merged" "$out/.config"
