use palyra_common::error::ErrorCode;
use palyra_common::runtime_contracts::Scope;
use palyra_storage::StorageError;

use super::AuthError;

#[test]
fn a_missing_scope_is_named_for_people_and_for_programs() {
    let envelope = AuthError::Forbidden { scope: Scope::SecretsWrite }.envelope();
    assert_eq!(envelope.known_code(), Some(ErrorCode::AuthForbidden));
    assert!(envelope.message().contains("secrets:write"));
    assert_eq!(envelope.details().unwrap()["scope"], "secrets:write");
}

#[test]
fn a_failing_database_keeps_its_own_code() {
    let error = AuthError::from(StorageError::ShuttingDown);
    assert_eq!(error.code(), ErrorCode::StorageShuttingDown);
    assert!(error.envelope().retryable());
    assert!(error.envelope().message().ends_with("the database is shutting down"));
}
