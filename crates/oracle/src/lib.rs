//! Runs recorded decisions of the real controller through the production planner.
