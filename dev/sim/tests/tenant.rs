//! What anyone does in another namespace changes nothing; `make sim-tenant` plays many more seeds.

use sim::tenant::pair::Sum;

/// Seeds that every test run plays.
const SEEDS: u64 = 150;

#[test]
fn a_hostile_tenant_changes_nothing_elsewhere() {
    let sum = Sum::of(0..SEEDS);
    assert!(sum.differences.is_empty(), "{:#?}", sum.differences);
    assert!(sum.missing().is_empty(), "too seldom: {:?} of {:?}", sum.missing(), sum.lures);
}
