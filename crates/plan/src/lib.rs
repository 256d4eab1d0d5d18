//! The pure planner: what to do next, decided from a snapshot and a time.
