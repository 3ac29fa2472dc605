use super::*;

#[test]
fn what_came_after_a_redirect_was_sent() {
    let refused =
        NetError::AddressRefused { host: "a.example".into(), kind: AddressKind::Loopback };
    assert!(!refused.was_sent());
    let after =
        NetError::AfterRedirect { from: "b.example:443".into(), error: Box::new(refused.clone()) };
    assert!(after.was_sent());
    assert_eq!(after.code(), refused.code());
    assert_eq!(
        after.to_string(),
        "b.example:443 redirected the request, and then: a.example is at an address of this \
         machine, and those are not reached"
    );
}

#[test]
fn what_may_pass_can_be_tried_again() {
    let at = || "a.example:80".to_owned();
    let what = || "x".to_owned();
    let limit = Duration::from_secs(1);
    for error in [
        NetError::NoAddress { host: at(), what: what() },
        NetError::Unreachable { at: at(), what: what() },
        NetError::Busy { at: at(), limit: 1 },
        NetError::Timeout { at: at(), limit },
        NetError::BrokeOff { at: at(), what: what() },
    ] {
        assert_eq!(error.retry_class(), RetryClass::TransientNetwork, "{error}");
    }
    for error in [
        NetError::Url { flaw: Flaw::Scheme },
        NetError::PortRefused { at: at() },
        NetError::HostNotGranted { at: at() },
        NetError::AddressRefused { host: at(), kind: AddressKind::Private },
        NetError::Tls { at: at(), what: what() },
        NetError::TooLarge { at: at(), what: what() },
        NetError::BadAnswer { at: at(), what: what() },
        NetError::Redirect { at: at(), flaw: RedirectFlaw::Downgrade },
    ] {
        assert_eq!(error.retry_class(), RetryClass::Permanent, "{error}");
        assert!(error.code().as_str().starts_with("net/"));
    }
}
