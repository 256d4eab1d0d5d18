//! Nothing but tests: `tests/scripts.rs` runs the Lua of `deploy/argocd`.
