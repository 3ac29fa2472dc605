use std::sync::Arc;

use palyra_common::time::Duration;
use palyra_storage::lease::{LeaseKeeper, Leases};
use palyra_storage::{Database, OpenOptions, SystemClock};

use super::*;

#[tokio::test]
async fn a_keeper_that_has_died_is_a_failure() {
    let folder = tempfile::tempdir().unwrap();
    let db = Database::open(OpenOptions::in_directory(folder.path())).await.unwrap();
    let leases = Leases::new(db.clone(), Arc::new(SystemClock), Duration::from_secs(10));
    let (keeper, node) = LeaseKeeper::new(db.clone(), leases);
    let dies = tokio::spawn(keeper.run(async { panic!("as a defect would") }));
    let stopped = must_stop(node, &Live::new(true)).await;
    assert!(matches!(stopped, Err(Failure::ServiceEnded("leases"))));
    assert!(dies.await.is_err());
    db.close().await;
}
