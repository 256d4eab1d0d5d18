#!/bin/sh
# Builds the real control plane from Go modules, once, into a cache outside target/.
# Usage: build.sh OUTDIR BINARY...
set -eu
out=$1; shift
cd "$(dirname "$0")"
version=v1.36.2
v=k8s.io/component-base/version
flags="-s -w -X $v.gitVersion=$version -X $v.gitMajor=1 -X $v.gitMinor=36 -X $v.gitCommit=modules -X $v.gitTreeState=clean"
mkdir -p "$out"
for binary in "$@"; do
  [ -x "$out/$binary" ] && continue
  echo "building $binary $version (once, cached in $out)" >&2
  CGO_ENABLED=0 GOFLAGS='-mod=readonly -trimpath -buildvcs=false' go build -ldflags "$flags" -o "$out/.$binary.$$" "./$binary"
  mv "$out/.$binary.$$" "$out/$binary"
done
