#!/bin/sh
# Builds a program from Go modules, once, into a cache outside target/. src/recipe.rs says how each is built.
# Usage: build.sh CACHE FILE DIRECTORY MODULES PACKAGE TAGS FLAGS; FILE is relative to CACHE, DIRECTORY to ..
# The environment states CGO_ENABLED; where it is 1, cc and c++ compile what is written in C and C++.
set -eu
cache=$1 file=$1/$2 directory=$3 modules=$4 package=$5 tags=$6 flags=$7
cd "$(dirname "$0")/../$directory"
mkdir -p "$(dirname "$file")"

# Two builds at a time would only slow each other down. A directory is
# the one lock every POSIX system has; a lock whose owner is gone is taken over.
lock="$cache/.lock"
until mkdir "$lock" 2>/dev/null; do
  owner=$(cat "$lock/pid" 2>/dev/null || echo unknown)
  if [ "$owner" != unknown ] && ! kill -0 "$owner" 2>/dev/null; then
    rm -rf "$lock"
  else
    sleep 1
  fi
done
echo $$ >"$lock/pid"
trap 'rm -rf "$lock"' EXIT
trap 'exit 1' INT TERM

[ ! -x "$file" ] || exit 0
echo "building $(basename "$file") (once, cached in $(dirname "$file"))" >&2
CC=${CC:-cc} CXX=${CXX:-c++} GOFLAGS='-mod=readonly -trimpath -buildvcs=false' \
  go build -modfile "$modules" -tags "$tags" -ldflags "$flags" -o "$file.$$" "$package"
mv "$file.$$" "$file"
