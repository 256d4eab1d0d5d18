# One static program and nothing beside it: no shell, no libc, no package manager. The sandbox, which
# is for people at their own machines, is left out. Builds for the machine's own architecture; the
# release workflow does so on one machine for each.
#
#   docker build -t REGISTRY/rollwright:0.1.0 .

# The digest counts, and the tag informs people: a tag can be moved.
FROM docker.io/library/rust:1.89-alpine@sha256:4b800f2e72e04be908e5f634c504c741bd943b763d1d8ad7b096cc340e1b5b46 AS build
# For ring and mimalloc, whose C and assembly are all that is not Rust.
RUN apk add --no-cache gcc musl-dev
WORKDIR /src
COPY . .
RUN --mount=type=cache,target=/usr/local/cargo/registry \
    --mount=type=cache,target=/src/target \
    cargo build --locked --release --package rollwright --bin rollwright \
        --no-default-features --features kube-v1_36 \
    && cp target/release/rollwright /rollwright

FROM scratch
COPY --from=build /rollwright /rollwright
COPY LICENSE /LICENSE
# The number, not a name: Kubernetes checks runAsNonRoot, and there is no /etc/passwd.
USER 65532:65532
EXPOSE 8080
ENTRYPOINT ["/rollwright"]
CMD ["run"]
