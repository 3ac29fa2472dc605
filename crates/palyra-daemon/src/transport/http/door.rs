//! Through which door a request came.

use std::net::SocketAddr;

/// The door, and who stands in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Door {
    /// The Unix socket; the other side runs as our own user.
    Local,
    /// TCP, from this address.
    Tcp(SocketAddr),
    /// gRPC, from this address.
    Grpc(SocketAddr),
}

impl Door {
    /// As it stands in the audit trail.
    pub(crate) fn origin(self) -> String {
        match self {
            Self::Local => "socket".into(),
            Self::Tcp(address) => format!("http:{}", address.ip()),
            Self::Grpc(address) => format!("grpc:{}", address.ip()),
        }
    }
}
