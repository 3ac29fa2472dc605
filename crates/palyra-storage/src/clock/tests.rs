use palyra_common::ids::EventId;

use super::new_id;

#[test]
fn ids_follow_each_other_within_a_millisecond() {
    let ids: Vec<EventId> = (0..10_000).map(|_| new_id()).collect();
    assert!(ids.is_sorted_by(|earlier, later| earlier < later));
}
