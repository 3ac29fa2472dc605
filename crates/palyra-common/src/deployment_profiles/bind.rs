use std::net::IpAddr;

use super::{BindAcknowledgement, BindPolicy, BindReason};

#[cfg(test)]
mod tests;

/// Whether a listener speaks TLS itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TlsMode {
    /// Plain text.
    Off,
    /// With a certificate.
    On,
}

/// A listener that someone wants to open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BindRequest<'a> {
    /// The address to listen on.
    pub address: IpAddr,
    /// Whether it would speak TLS.
    pub tls: TlsMode,
    /// The acknowledgements that were given; order and repetition do not matter.
    pub acknowledgements: &'a [BindAcknowledgement],
}

/// Decides whether a listener may be opened, and why.
///
/// Every address that is not loopback counts as public, private networks and "all interfaces"
/// included: who shares such a network is not known here. Of several reasons to refuse, the one to
/// put right first is given.
pub fn judge_bind(policy: BindPolicy, request: &BindRequest<'_>) -> BindReason {
    if is_loopback(request.address) {
        return BindReason::Loopback;
    }
    match (policy, request.tls) {
        (BindPolicy::LoopbackOnly, TlsMode::Off | TlsMode::On) => BindReason::ProfileIsLoopbackOnly,
        (BindPolicy::LoopbackBehindProxy, TlsMode::On) => BindReason::ProfileIsLoopbackOnly,
        (BindPolicy::LoopbackBehindProxy | BindPolicy::LoopbackOrGuardedPublic, TlsMode::Off) => {
            BindReason::TlsMissing
        }
        (BindPolicy::LoopbackOrGuardedPublic, TlsMode::On) => {
            judge_acknowledgements(request.acknowledgements)
        }
    }
}

fn judge_acknowledgements(given: &[BindAcknowledgement]) -> BindReason {
    let missing = BindAcknowledgement::ALL.iter().find(|needed| !given.contains(needed));
    match missing {
        Some(BindAcknowledgement::InConfiguration) => {
            BindReason::ConfigurationAcknowledgementMissing
        }
        Some(BindAcknowledgement::AtStart) => BindReason::StartAcknowledgementMissing,
        None => BindReason::GuardedPublic,
    }
}

/// An IPv4 loopback address written as IPv6 (`::ffff:127.0.0.1`) is still loopback.
fn is_loopback(address: IpAddr) -> bool {
    address.to_canonical().is_loopback()
}

impl BindReason {
    /// Whether the listener may be opened.
    pub const fn is_allowed(self) -> bool {
        match self {
            Self::Loopback | Self::GuardedPublic => true,
            Self::ProfileIsLoopbackOnly
            | Self::TlsMissing
            | Self::ConfigurationAcknowledgementMissing
            | Self::StartAcknowledgementMissing => false,
        }
    }
}
