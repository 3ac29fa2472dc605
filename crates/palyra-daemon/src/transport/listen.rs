//! Opening listeners: only where the deployment profile allows it.

use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use palyra_common::data_dir::SOCKET;
use palyra_common::deployment_profiles::{BindReason, BindRequest, TlsMode, judge_bind};
use palyra_common::{DeploymentProfile, ErrorCode, StableErrorEnvelope};
use tokio::net::{TcpListener, UnixListener};

use crate::failure::Failure;

/// Listens on `address`, which option `option` names.
pub(crate) async fn tcp(
    option: &str,
    address: SocketAddr,
    profile: DeploymentProfile,
) -> Result<TcpListener, Failure> {
    check_address(option, address, profile)?;
    TcpListener::bind(address).await.map_err(|error| {
        let code = match error.kind() {
            std::io::ErrorKind::AddrInUse => ErrorCode::DaemonAddressInUse,
            _ => ErrorCode::DaemonAddressRefused,
        };
        refused(code, format!("{option}: cannot listen on {address}: {error}"))
    })
}

/// Listens on the socket in the data directory. Only the user that runs the daemon can open it.
pub(crate) async fn socket(data_dir: &Path) -> Result<(UnixListener, PathBuf), Failure> {
    let path = data_dir.join(SOCKET);
    let wrong = |error: std::io::Error| {
        let what = format!("cannot listen on {}: {error}", path.display());
        refused(ErrorCode::DaemonAddressRefused, what)
    };
    // One that has come up since it was looked for.
    if tokio::net::UnixStream::connect(&path).await.is_ok() {
        let what = format!("another daemon answers on {}", path.display());
        return Err(refused(ErrorCode::DaemonAddressInUse, what));
    }
    match std::fs::remove_file(&path) {
        Ok(()) => {}
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        Err(error) => return Err(wrong(error)),
    }
    let listener = UnixListener::bind(&path).map_err(wrong)?;
    // Whoever comes before this is turned away by the check of their user id.
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).map_err(wrong)?;
    Ok((listener, path))
}

/// Why the profile does not allow this address, if it does not.
pub(crate) fn check_address(
    option: &str,
    address: SocketAddr,
    profile: DeploymentProfile,
) -> Result<(), Failure> {
    let request = BindRequest { address: address.ip(), tls: TlsMode::Off, acknowledgements: &[] };
    let reason = judge_bind(profile.spec().bind, &request);
    if reason.is_allowed() {
        return Ok(());
    }
    let what = format!("{option}: {address} is refused: {}", words(reason));
    Err(refused(ErrorCode::DaemonAddressRefused, what))
}

fn refused(code: ErrorCode, what: String) -> Failure {
    Failure::Listen(StableErrorEnvelope::new(code, what))
}

fn words(reason: BindReason) -> &'static str {
    match reason {
        BindReason::Loopback | BindReason::GuardedPublic => "it is allowed",
        BindReason::ProfileIsLoopbackOnly => "this deployment profile allows loopback only",
        BindReason::TlsMissing
        | BindReason::ConfigurationAcknowledgementMissing
        | BindReason::StartAcknowledgementMissing => {
            "the daemon does not speak TLS itself, so it listens on loopback only"
        }
    }
}
