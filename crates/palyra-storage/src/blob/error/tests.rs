use super::*;

#[test]
fn whether_to_retry_is_what_the_registry_says() {
    let cause = || -> Cause { Arc::new(std::io::Error::other("why")) };
    let id = BlobId::of(b"content");
    for (error, expected) in [
        (BlobError::NotFound { id: id.clone() }, RetryClass::Permanent),
        (BlobError::Corrupt { id }, RetryClass::Permanent),
        (BlobError::Unavailable(cause()), RetryClass::TransientNetwork),
        (BlobError::Denied(cause()), RetryClass::TransientNetwork),
        (StorageError::CommitUnknown(cause()).into(), RetryClass::Permanent),
        (StorageError::Busy(cause()).into(), RetryClass::TransientNetwork),
    ] {
        assert_eq!(error.retry_class(), expected, "{error}");
        assert_eq!(error.envelope().retryable(), expected != RetryClass::Permanent, "{error}");
    }
}
