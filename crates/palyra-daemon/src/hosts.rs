//! The names under which this daemon is reached.

use std::net::SocketAddr;

/// The address we listen on, by number and as `localhost`, and what the operator adds.
pub(crate) fn ours(http: SocketAddr, added: &[String]) -> Vec<String> {
    let port = http.port();
    let mut hosts = vec![http.to_string()];
    for name in ["localhost", "127.0.0.1", "[::1]"] {
        hosts.push(format!("{name}:{port}"));
        if port == 80 {
            hosts.push(name.to_owned());
        }
    }
    hosts.extend(added.iter().cloned());
    hosts
}
