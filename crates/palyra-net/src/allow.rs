//! What an operator has named although it is not public.

use std::net::IpAddr;

use ipnet::IpNet;

use crate::address::{self, AddressKind};
use crate::host::{Host, HostPattern};

#[cfg(test)]
mod tests;

/// The entries of `net.allow`.
#[derive(Debug, Clone, Default)]
pub(crate) struct Allow {
    networks: Vec<IpNet>,
    hosts: Vec<HostPattern>,
}

impl Allow {
    /// Reads the entries; the error is the one that cannot be read.
    pub(crate) fn parse(entries: &[String]) -> Result<Self, String> {
        let mut allow = Self::default();
        for entry in entries {
            if let Ok(network) = entry.parse::<IpNet>() {
                allow.networks.push(network.trunc());
                continue;
            }
            let pattern: HostPattern = entry.parse().map_err(|_| entry.clone())?;
            match pattern.address() {
                Some(address) => allow.networks.push(address.into()),
                None => allow.hosts.push(pattern),
            }
        }
        Ok(allow)
    }

    /// Whether `host` may be reached at `address`; if not, why.
    pub(crate) fn judge(&self, host: &Host, address: IpAddr) -> Result<(), AddressKind> {
        let Some(kind) = address::kind(address) else { return Ok(()) };
        // The system speaks IPv4 to a mapped address, so it is judged and named as that.
        let address = address.to_canonical();
        let by_address = self.networks.iter().any(|network| network.contains(&address));
        let by_name =
            kind.is_opened_by_name() && self.hosts.iter().any(|pattern| pattern.matches(host));
        if by_address || by_name { Ok(()) } else { Err(kind) }
    }
}
