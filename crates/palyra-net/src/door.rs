//! Who is let through: the decision about hosts, ports and addresses, and the lookup that makes it
//! binding.

use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use reqwest::dns::{Addrs, Name};

use crate::allow::Allow;
use crate::error::NetError;
use crate::host::Host;
use crate::request::Hosts;
use crate::resolve::Resolve;
use crate::target::Target;

#[cfg(test)]
mod tests;

/// Ports of other protocols, as browsers refuse them: a request sent there could be taken for
/// something else, such as a letter. From the list of "bad ports" in the Fetch standard.
#[rustfmt::skip]
const PORTS_OF_OTHERS: &[u16] = &[
    0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101,
    102, 103, 104, 109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427,
    465, 512, 513, 514, 515, 526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990,
    993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667,
    6668, 6669, 6679, 6697, 10080,
];

/// More addresses than this belong to no honest name.
const MAX_ADDRESSES: usize = 64;

/// Decides, and looks names up.
pub(crate) struct Door {
    pub(crate) allow: Allow,
    pub(crate) allow_ports: BTreeSet<u16>,
    pub(crate) proxy: Option<Through>,
    pub(crate) resolver: Arc<dyn Resolve>,
}

/// The proxy that everything goes through.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Through {
    pub(crate) url: String,
    /// The only host that is not judged when it is connected to: the operator has chosen it.
    pub(crate) host: Host,
}

impl Door {
    /// Everything that can be decided without a lookup.
    pub(crate) fn admit(&self, target: &Target, hosts: &Hosts) -> Result<(), NetError> {
        let at = || target.at();
        if !hosts.names(target.host()) {
            return Err(NetError::HostNotGranted { at: at() });
        }
        let port = target.port();
        if PORTS_OF_OTHERS.contains(&port) && !self.allow_ports.contains(&port) {
            return Err(NetError::PortRefused { at: at() });
        }
        match target.host() {
            Host::Address(address) => self.judge(target.host(), *address),
            Host::Name(_) => Ok(()),
        }
    }

    /// The addresses of `host`, all of which may be reached. One that may not is enough to refuse
    /// the host: an honest name is public or it is not, and which of its addresses a connection
    /// takes is chance.
    pub(crate) async fn addresses(&self, host: &Host) -> Result<Vec<IpAddr>, NetError> {
        let addresses = self.look_up(host).await?;
        for address in &addresses {
            self.judge(host, *address)?;
        }
        Ok(addresses)
    }

    fn judge(&self, host: &Host, address: IpAddr) -> Result<(), NetError> {
        let refused = |kind| NetError::AddressRefused { host: host.to_string(), kind };
        self.allow.judge(host, address).map_err(refused)
    }

    async fn look_up(&self, host: &Host) -> Result<Vec<IpAddr>, NetError> {
        let name = match host {
            Host::Address(address) => return Ok(vec![*address]),
            Host::Name(name) => name,
        };
        let none = |what: String| NetError::NoAddress { host: name.clone(), what };
        let found = self.resolver.resolve(name).await.map_err(|error| none(error.to_string()))?;
        match found.len() {
            0 => Err(none("the answer was empty".into())),
            1..=MAX_ADDRESSES => Ok(found),
            _ => Err(none(format!("the answer has more than {MAX_ADDRESSES}"))),
        }
    }
}

/// How the HTTP client looks names up, at the moment when it connects and at no other. What it is
/// given has been judged, so there is nothing else that it could connect to.
pub(crate) struct Lookup(pub(crate) Arc<Door>);

impl reqwest::dns::Resolve for Lookup {
    fn resolve(&self, name: Name) -> reqwest::dns::Resolving {
        let door = Arc::clone(&self.0);
        Box::pin(async move {
            let host = client_host(name.as_str());
            let found = match &door.proxy {
                Some(through) if through.host == host => door.look_up(&host).await?,
                Some(_) | None => door.addresses(&host).await?,
            };
            // The port of the URL takes the place of 0.
            let found = found.into_iter().map(|address| SocketAddr::new(address, 0));
            Ok(Box::new(found) as Addrs)
        })
    }
}

/// The host as the client writes it: from a URL that was read here. Where it goes through a SOCKS
/// proxy it asks about addresses, too.
fn client_host(text: &str) -> Host {
    let bare = text.trim_start_matches('[').trim_end_matches(']');
    match bare.parse::<IpAddr>() {
        Ok(address) => Host::Address(address.to_canonical()),
        Err(_) => Host::Name(text.to_owned()),
    }
}
