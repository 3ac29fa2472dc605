use palyra_storage::{Database, OpenOptions, Sql, Tx, params, sql};

macro_rules! plan {
    ($statement:expr) => {
        sql!(sqlite: concat!("EXPLAIN QUERY PLAN ", $statement), postgres: "SELECT 1")
    };
}

/// SQLite knows nothing of how much there is, and would choose an index by the connector alone that
/// holds all that it has ever sent.
#[tokio::test]
async fn what_is_under_way_is_found_without_what_has_ended() {
    const WHOLE: [&str; 2] =
        ["outbox_by_lane (connector_id=?)", "autoindex_outbox_1 (connector_id=?)"];
    const EMPTY_LANES: &str = "autoindex_outbox_lanes_1 (connector_id=?)";
    const PLANS: [(Sql, usize); 3] =
        [(plan!(waiting!()), 2), (plan!(under_way!("<> $2")), 3), (plan!(under_way!("= $2")), 3)];
    let folder = tempfile::tempdir().unwrap();
    let db = Database::open(OpenOptions::in_directory(folder.path())).await.unwrap();
    for (statement, needs) in PLANS {
        let explain = move |tx: &mut Tx<'_>| {
            let params = params!["echo:default", 1_i64, 1_i64];
            tx.query(&statement, &params[..needs], |row| row.get::<String>(3))
        };
        let plan = db.read(explain).await.unwrap();
        let walks =
            |step: &&String| WHOLE.iter().chain([&EMPTY_LANES]).any(|index| step.contains(index));
        assert_eq!(plan.iter().find(walks), None, "{plan:#?}");
    }
    db.close().await;
}
