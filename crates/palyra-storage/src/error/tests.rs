use std::sync::Arc;

use super::*;

#[test]
fn whether_to_retry_is_what_the_registry_says() {
    let cause = || -> Cause { Arc::new(std::io::Error::other("why")) };
    let path = || PathBuf::from("palyra.db");
    for (error, expected) in [
        (StorageError::ReadOnly { path: path(), cause: cause() }, RetryClass::Permanent),
        (StorageError::Locked { path: path() }, RetryClass::Permanent),
        (StorageError::CommitUnknown(cause()), RetryClass::Permanent),
        (StorageError::Busy(cause()), RetryClass::TransientNetwork),
        (StorageError::ShuttingDown, RetryClass::TransientNetwork),
    ] {
        assert_eq!(error.retry_class(), expected, "{error}");
        assert_eq!(error.envelope().retryable(), expected != RetryClass::Permanent, "{error}");
    }
}
