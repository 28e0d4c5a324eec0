#!/usr/bin/env bash
# Runs a compiler and keeps what ptxas says about the kernels in OBJECT.ptxas; everything else goes
# on to the terminal. A compiler cache repeats what ptxas said when it has the object already.
set -uo pipefail

object=
previous=
for argument in "$@"; do
  if [ "$previous" = -o ]; then object=$argument; fi
  previous=$argument
done
if [ -z "$object" ]; then exec "$@"; fi

messages=$(mktemp)
trap 'rm -f "$messages"' EXIT
"$@" 2>"$messages"
status=$?
facts='^ptxas info|^ +[0-9]+ bytes stack frame'
grep -E "$facts" "$messages" >"$object.ptxas"
grep -vE "$facts" "$messages" >&2
exit "$status"
