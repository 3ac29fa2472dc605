//! Texts of a form of their own.

use std::net::Ipv6Addr;

/// `#RRGGBB`
pub(super) fn is_color(text: &str) -> bool {
    let digits = text.strip_prefix('#');
    digits.is_some_and(|digits| digits.len() == 6 && digits.bytes().all(|b| b.is_ascii_hexdigit()))
}

/// A date, a time or both, as RFC 3339 writes them.
pub(super) fn is_moment(text: &str) -> bool {
    is_date(text) || is_time(text) || is_date_time(text)
}

/// A date and a time.
pub(super) fn is_date_time(text: &str) -> bool {
    let Some((date, time)) = text.split_at_checked(10) else { return false };
    is_date(date) && time.strip_prefix(['T', 't']).is_some_and(is_time)
}

fn is_date(text: &str) -> bool {
    let is_written = text.len() == 10
        && text.bytes().enumerate().all(|(n, byte)| match n {
            4 | 7 => byte == b'-',
            _ => byte.is_ascii_digit(),
        });
    is_written && text.parse::<jiff::civil::Date>().is_ok()
}

/// With its offset; the second 60 only where it can be one that was put in.
fn is_time(text: &str) -> bool {
    let Some((clock, rest)) = text.split_at_checked(8) else { return false };
    let Some([hour, minute, second]) = numbers(clock) else { return false };
    let offset = match rest.strip_prefix('.') {
        Some(fraction) => {
            let offset = fraction.trim_start_matches(|c: char| c.is_ascii_digit());
            if offset.len() == fraction.len() {
                return false;
            }
            offset
        }
        None => rest,
    };
    let Some(offset) = minutes(offset) else { return false };
    let in_utc = (i32::from(hour) * 60 + i32::from(minute) - offset).rem_euclid(24 * 60);
    hour < 24 && minute < 60 && (second < 60 || second == 60 && in_utc == 23 * 60 + 59)
}

/// How many minutes an offset is ahead of UTC.
fn minutes(offset: &str) -> Option<i32> {
    if offset.eq_ignore_ascii_case("z") {
        return Some(0);
    }
    let sign = match offset.as_bytes().first()? {
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    let [hour, minute] = numbers(&offset[1..])?;
    (hour < 24 && minute < 60).then_some(sign * (i32::from(hour) * 60 + i32::from(minute)))
}

/// Numbers of two digits with colons between them.
fn numbers<const N: usize>(text: &str) -> Option<[u8; N]> {
    let mut found = [0; N];
    let mut parts = text.split(':');
    for number in &mut found {
        let part = parts.next()?;
        let is_written = part.len() == 2 && part.bytes().all(|byte| byte.is_ascii_digit());
        *number = is_written.then(|| part.parse().ok())??;
    }
    parts.next().is_none().then_some(found)
}

/// A URI with a scheme, as RFC 3986 writes it.
pub(super) fn is_uri(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once(':') else { return false };
    let mut letters = scheme.bytes();
    let is_scheme = letters.next().is_some_and(|first| first.is_ascii_alphabetic())
        && letters.all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte));
    let (rest, fragment) = rest.split_once('#').unwrap_or((rest, ""));
    let (hierarchy, query) = rest.split_once('?').unwrap_or((rest, ""));
    let is_hierarchy = match hierarchy.strip_prefix("//") {
        Some(rest) => {
            let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
            is_authority(authority) && is_made_of(path, b":@/")
        }
        None => is_made_of(hierarchy, b":@/"),
    };
    is_scheme && is_hierarchy && is_made_of(query, b":@/?") && is_made_of(fragment, b":@/?")
}

fn is_authority(text: &str) -> bool {
    let (user, place) = text.rsplit_once('@').unwrap_or(("", text));
    let (host, port) = match place.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, port)) => (address.parse::<Ipv6Addr>().is_ok(), port),
        None => {
            let (host, port) = place.split_at(place.find(':').unwrap_or(place.len()));
            (is_made_of(host, b""), port)
        }
    };
    let port = port.strip_prefix(':').unwrap_or(port);
    is_made_of(user, b":") && host && port.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether a part of a URI has only characters that may stand in any part, and these.
fn is_made_of(text: &str, besides: &[u8]) -> bool {
    let bytes = text.as_bytes();
    bytes.iter().enumerate().all(|(at, byte)| match byte {
        b'%' => bytes.get(at + 1..at + 3).is_some_and(|hex| hex.iter().all(u8::is_ascii_hexdigit)),
        byte => {
            byte.is_ascii_alphanumeric()
                || b"-._~!$&'()*+,;=".contains(byte)
                || besides.contains(byte)
        }
    })
}
