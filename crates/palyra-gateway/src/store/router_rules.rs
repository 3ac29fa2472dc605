//! `router_rules`: which messages of a connector reach which agent.

use palyra_common::ids::{ConnectorId, RuleId};
use palyra_common::route::Rule;
use palyra_common::time::Timestamp;
use palyra_storage::{Row, Sql, StorageError, Tx, params, sql};

macro_rules! columns {
    () => {
        "id, connector_id, rule, version, created_at, changed_at"
    };
}

const ADD: Sql = sql!(
    "INSERT INTO router_rules (id, connector_id, conversation, rule, version, created_at,
         changed_at)
     VALUES ($1, $2, $3, $4, 1, $5, $5) ON CONFLICT DO NOTHING"
);

const CHANGE: Sql =
    sql!("UPDATE router_rules SET rule = $2, version = version + 1, changed_at = $3 WHERE id = $1");

const REMOVE: Sql = sql!("DELETE FROM router_rules WHERE id = $1 RETURNING connector_id");

/// Reads a rule for whoever is about to change it.
const LOCK: Sql =
    sql!(concat!("UPDATE router_rules SET version = version WHERE id = $1 RETURNING ", columns!()));

const ONE: Sql = sql!(concat!("SELECT ", columns!(), " FROM router_rules WHERE id = $1"));

/// The only two that can cover a conversation.
const COVERING: Sql = sql!(concat!(
    "SELECT ",
    columns!(),
    " FROM router_rules WHERE connector_id = $1 AND conversation IN ($2, '')"
));

const LIST: Sql = sql!(concat!(
    "SELECT ",
    columns!(),
    " FROM router_rules WHERE id > $1 AND ($2 = '' OR connector_id = $2) ORDER BY id LIMIT $3"
));

/// A rule as it is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredRule {
    /// Its id.
    pub id: RuleId,
    /// For which connector.
    pub connector: ConnectorId,
    /// What it says.
    pub rule: Rule,
    /// Grows with each change.
    pub version: i64,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was last changed.
    pub changed_at: Timestamp,
}

/// Says whether there was none for that place.
pub(crate) fn add(tx: &mut Tx<'_>, rule: &StoredRule) -> Result<bool, StorageError> {
    let (id, text) = (rule.id.to_string(), to_text(&rule.rule)?);
    let place = rule.rule.conversation.as_deref().unwrap_or_default();
    let params = params![&id, rule.connector.as_str(), place, &text, rule.created_at];
    Ok(tx.execute(&ADD, params)? == 1)
}

/// The place that it is for stays the same.
pub(crate) fn change(
    tx: &mut Tx<'_>,
    id: RuleId,
    rule: &Rule,
    now: Timestamp,
) -> Result<(), StorageError> {
    let (id, text) = (id.to_string(), to_text(rule)?);
    tx.execute(&CHANGE, params![&id, &text, now]).map(drop)
}

/// Says whose it was, if there was one.
pub(crate) fn remove(tx: &mut Tx<'_>, id: RuleId) -> Result<Option<ConnectorId>, StorageError> {
    let id = id.to_string();
    tx.query_opt(&REMOVE, params![&id], |row| row.parse(0))
}

pub(crate) fn lock(tx: &mut Tx<'_>, id: RuleId) -> Result<Option<StoredRule>, StorageError> {
    let id = id.to_string();
    tx.query_opt(&LOCK, params![&id], read)
}

pub(crate) fn one(tx: &mut Tx<'_>, id: RuleId) -> Result<Option<StoredRule>, StorageError> {
    let id = id.to_string();
    tx.query_opt(&ONE, params![&id], read)
}

/// The rules that can cover a conversation: its own and the one for all.
pub(crate) fn covering(
    tx: &mut Tx<'_>,
    connector: &ConnectorId,
    conversation: &str,
) -> Result<Vec<Rule>, StorageError> {
    let rules = tx.query(&COVERING, params![connector.as_str(), conversation], read)?;
    Ok(rules.into_iter().map(|stored| stored.rule).collect())
}

/// Rules by the time they were made, behind `after`, of one connector or of all.
pub(crate) fn list(
    tx: &mut Tx<'_>,
    connector: Option<&ConnectorId>,
    after: Option<RuleId>,
    limit: u32,
) -> Result<Vec<StoredRule>, StorageError> {
    let after = after.map(|id| id.to_string()).unwrap_or_default();
    let connector = connector.map(ConnectorId::as_str).unwrap_or_default();
    tx.query(&LIST, params![&after, connector, limit], read)
}

fn to_text(rule: &Rule) -> Result<String, StorageError> {
    let invalid = |error: serde_json::Error| StorageError::InvalidValue { what: error.to_string() };
    serde_json::to_string(rule).map_err(invalid)
}

fn read(row: &Row<'_>) -> Result<StoredRule, StorageError> {
    let text: String = row.get(2)?;
    let rule = serde_json::from_str(&text).map_err(|error| StorageError::InvalidValue {
        what: format!("a rule holds other JSON than is needed: {error}"),
    })?;
    Ok(StoredRule {
        id: row.parse(0)?,
        connector: row.parse(1)?,
        rule,
        version: row.get(3)?,
        created_at: row.get(4)?,
        changed_at: row.get(5)?,
    })
}
