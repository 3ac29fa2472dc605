//! Ports for servers under test.

use std::net::{Ipv4Addr, TcpListener};

use anyhow::Context;

/// A TCP port of the loopback address that was free a moment ago.
///
/// Another process may take it before the caller does. Where the program can pick a port itself
/// (port 0), that is better.
pub fn free_port() -> anyhow::Result<u16> {
    let listener =
        TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("bind a free port on loopback")?;
    Ok(listener.local_addr().context("read the address of a free port")?.port())
}
