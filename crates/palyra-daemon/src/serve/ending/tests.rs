use palyra_common::data_dir::STOP_SECONDS;

use super::*;
use crate::config::HttpConfig;

#[test]
fn whoever_stops_it_as_usual_waits_for_longer_than_it_takes() {
    let usual = limit(HttpConfig::default().drain_timeout.into());
    assert!(usual < Duration::from_secs(STOP_SECONDS), "{usual:?}");
}
