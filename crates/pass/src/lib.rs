//! Carries out one pass: asks, plans, acts; generic over the cluster it acts on.
