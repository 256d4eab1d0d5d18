//! A real Kubernetes control plane with a fake kubelet, for demos and tests.
