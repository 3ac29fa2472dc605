//! Which addresses are public. Everything else is refused unless an operator has named it.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{Ipv4Net, Ipv6Net};

#[cfg(test)]
mod tests;

/// Why an address is not public.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AddressKind {
    /// No address, or one of "this network", which systems take for their own.
    Unspecified,
    /// This machine.
    Loopback,
    /// A private network.
    Private,
    /// Between a provider and its customers (100.64.0.0/10).
    CarrierNat,
    /// This link only.
    LinkLocal,
    /// Where clouds tell a machine its credentials.
    Metadata,
    /// Many machines.
    Multicast,
    /// All machines of a network.
    Broadcast,
    /// For examples in texts.
    Documentation,
    /// For measurements.
    Benchmarking,
    /// Another address is inside (6to4, Teredo, local NAT64 and their like), and where a packet
    /// comes out depends on who unpacks it.
    Tunnel,
    /// Not given out for use.
    Reserved,
}

impl AddressKind {
    /// Whether an operator who names a host means that it may be such an address. The others have
    /// to be named as addresses: no name of a service leads there by right.
    pub(crate) fn is_opened_by_name(self) -> bool {
        match self {
            Self::Loopback | Self::Private | Self::CarrierNat | Self::LinkLocal => true,
            Self::Unspecified
            | Self::Metadata
            | Self::Multicast
            | Self::Broadcast
            | Self::Documentation
            | Self::Benchmarking
            | Self::Tunnel
            | Self::Reserved => false,
        }
    }
}

impl fmt::Display for AddressKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unspecified => "an unspecified address",
            Self::Loopback => "an address of this machine",
            Self::Private => "an address of a private network",
            Self::CarrierNat => "an address of a provider's inner network",
            Self::LinkLocal => "an address of the local link",
            Self::Metadata => "an address where clouds hand out credentials",
            Self::Multicast => "a multicast address",
            Self::Broadcast => "a broadcast address",
            Self::Documentation => "an address for documentation",
            Self::Benchmarking => "an address for benchmarks",
            Self::Tunnel => "an address with another one inside",
            Self::Reserved => "a reserved address",
        })
    }
}

/// Why `address` is not public; `None` if it is.
pub(crate) fn kind(address: IpAddr) -> Option<AddressKind> {
    match address {
        IpAddr::V4(address) => kind_of_v4(address),
        IpAddr::V6(address) => kind_of_v6(address),
    }
}

fn kind_of_v4(address: Ipv4Addr) -> Option<AddressKind> {
    V4.iter().find(|(net, _)| net.contains(&address)).map(|(_, kind)| *kind)
}

fn kind_of_v6(address: Ipv6Addr) -> Option<AddressKind> {
    // The system itself speaks IPv4 to a mapped address, and a gateway to one of NAT64, which is
    // how machines without IPv4 reach it.
    if let Some(inside) = address.to_ipv4_mapped() {
        return kind_of_v4(inside);
    }
    if NAT64.contains(&address) {
        let [.., a, b, c, d] = address.octets();
        return kind_of_v4(Ipv4Addr::new(a, b, c, d));
    }
    let listed = V6.iter().find(|(net, _)| net.contains(&address)).map(|(_, kind)| *kind);
    listed.or((!GLOBAL_UNICAST.contains(&address)).then_some(AddressKind::Reserved))
}

const fn v4(a: u8, b: u8, c: u8, d: u8, prefix: u8) -> Ipv4Net {
    Ipv4Net::new_assert(Ipv4Addr::new(a, b, c, d), prefix)
}

/// The first hextets of a network; the others are zero.
const fn v6(start: [u16; 4], prefix: u8) -> Ipv6Net {
    let [a, b, c, d] = start;
    Ipv6Net::new_assert(Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0), prefix)
}

/// From the registry of special-purpose addresses (RFC 6890 and later), and what clouds have made
/// special on their own. The first that matches counts.
const V4: &[(Ipv4Net, AddressKind)] = &[
    (v4(169, 254, 169, 254, 32), AddressKind::Metadata),
    // Credentials of containers on Amazon.
    (v4(169, 254, 170, 2, 32), AddressKind::Metadata),
    (v4(169, 254, 170, 23, 32), AddressKind::Metadata),
    // Alibaba.
    (v4(100, 100, 100, 200, 32), AddressKind::Metadata),
    // Oracle.
    (v4(192, 0, 0, 192, 32), AddressKind::Metadata),
    // Azure, in the middle of a public network.
    (v4(168, 63, 129, 16, 32), AddressKind::Metadata),
    (v4(0, 0, 0, 0, 8), AddressKind::Unspecified),
    (v4(10, 0, 0, 0, 8), AddressKind::Private),
    (v4(100, 64, 0, 0, 10), AddressKind::CarrierNat),
    (v4(127, 0, 0, 0, 8), AddressKind::Loopback),
    (v4(169, 254, 0, 0, 16), AddressKind::LinkLocal),
    (v4(172, 16, 0, 0, 12), AddressKind::Private),
    (v4(192, 0, 0, 0, 24), AddressKind::Reserved),
    (v4(192, 0, 2, 0, 24), AddressKind::Documentation),
    // Relays of 6to4, which are no more.
    (v4(192, 88, 99, 0, 24), AddressKind::Tunnel),
    (v4(192, 168, 0, 0, 16), AddressKind::Private),
    (v4(198, 18, 0, 0, 15), AddressKind::Benchmarking),
    (v4(198, 51, 100, 0, 24), AddressKind::Documentation),
    (v4(203, 0, 113, 0, 24), AddressKind::Documentation),
    (v4(224, 0, 0, 0, 4), AddressKind::Multicast),
    (v4(255, 255, 255, 255, 32), AddressKind::Broadcast),
    (v4(240, 0, 0, 0, 4), AddressKind::Reserved),
];

/// What a gateway turns into IPv4 by the usual prefix (RFC 6052).
const NAT64: Ipv6Net = v6([0x64, 0xff9b, 0, 0], 96);

/// All that has been given out to reach machines (RFC 4291); the rest is listed or reserved.
const GLOBAL_UNICAST: Ipv6Net = v6([0x2000, 0, 0, 0], 3);

const UNSPECIFIED: Ipv6Net = Ipv6Net::new_assert(Ipv6Addr::UNSPECIFIED, 128);
const LOOPBACK: Ipv6Net = Ipv6Net::new_assert(Ipv6Addr::LOCALHOST, 128);
const AMAZON: Ipv6Net =
    Ipv6Net::new_assert(Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254), 128);
const AMAZON_CONTAINERS: Ipv6Net =
    Ipv6Net::new_assert(Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x23), 128);
const GOOGLE: Ipv6Net = Ipv6Net::new_assert(Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254), 128);
/// An IPv4 address after a prefix that says that it was translated (RFC 2765).
const TRANSLATED: Ipv6Net = Ipv6Net::new_assert(Ipv6Addr::new(0, 0, 0, 0, 0xffff, 0, 0, 0), 96);

/// The same for IPv6. The first that matches counts.
const V6: &[(Ipv6Net, AddressKind)] = &[
    (UNSPECIFIED, AddressKind::Unspecified),
    (LOOPBACK, AddressKind::Loopback),
    (AMAZON, AddressKind::Metadata),
    (AMAZON_CONTAINERS, AddressKind::Metadata),
    (GOOGLE, AddressKind::Metadata),
    // Compatible addresses, which nobody uses any more and some systems still understand.
    (v6([0, 0, 0, 0], 96), AddressKind::Tunnel),
    (TRANSLATED, AddressKind::Tunnel),
    // NAT64 by rules of the local network.
    (v6([0x64, 0xff9b, 1, 0], 48), AddressKind::Tunnel),
    // Teredo.
    (v6([0x2001, 0, 0, 0], 32), AddressKind::Tunnel),
    (v6([0x2001, 2, 0, 0], 48), AddressKind::Benchmarking),
    // The rest of what is kept for protocols.
    (v6([0x2001, 0, 0, 0], 23), AddressKind::Reserved),
    (v6([0x2001, 0xdb8, 0, 0], 32), AddressKind::Documentation),
    // 6to4.
    (v6([0x2002, 0, 0, 0], 16), AddressKind::Tunnel),
    (v6([0x3fff, 0, 0, 0], 20), AddressKind::Documentation),
    (v6([0xfc00, 0, 0, 0], 7), AddressKind::Private),
    (v6([0xfe80, 0, 0, 0], 10), AddressKind::LinkLocal),
    // What was private before fc00::/7 was.
    (v6([0xfec0, 0, 0, 0], 10), AddressKind::Private),
    (v6([0xff00, 0, 0, 0], 8), AddressKind::Multicast),
];
