#!/bin/sh
# Builds the real control plane from Go modules, once, into a cache outside target/.
# Usage: build.sh OUTDIR BINARY...
set -eu
out=$1; shift
cd "$(dirname "$0")"
version=v1.36.2
helm_version=v4.3.1
promtool_version=3.15.0
v=k8s.io/component-base/version
flags="-s -w -X $v.gitVersion=$version -X $v.gitMajor=1 -X $v.gitMinor=36 -X $v.gitCommit=modules -X $v.gitTreeState=clean"
helm_flags="-s -w -X helm.sh/helm/v4/internal/version.version=$helm_version"
promtool_flags="-s -w -X github.com/prometheus/common/version.Version=$promtool_version"
mkdir -p "$out"

# Two builds of the same binary would only slow each other down. A directory is
# the one lock every POSIX system has; a lock whose owner is gone is taken over.
lock="$out/.lock"
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

for binary in "$@"; do
  [ -x "$out/$binary" ] && continue
  tags=
  case $binary in
    helm) module=../go-helm package=helm.sh/helm/v4/cmd/helm ldflags=$helm_flags ;;
    # The very module that helm waits by.
    kstatus) module=../go-helm package=./kstatus ldflags="-s -w" ;;
    actionlint) module=../go-actionlint package=github.com/rhysd/actionlint/cmd/actionlint ldflags="-s -w" ;;
    # Rules are tested without service discovery, whose clients of clouds are large.
    promtool) module=../go-promtool package=github.com/prometheus/prometheus/cmd/promtool
              ldflags=$promtool_flags tags=remove_all_sd ;;
    *) module=. package=./$binary ldflags=$flags ;;
  esac
  echo "building $binary (once, cached in $out)" >&2
  (cd "$module" && CGO_ENABLED=0 GOFLAGS='-mod=readonly -trimpath -buildvcs=false' \
    go build -tags "$tags" -ldflags "$ldflags" -o "$out/.$binary.$$" "$package")
  mv "$out/.$binary.$$" "$out/$binary"
done
