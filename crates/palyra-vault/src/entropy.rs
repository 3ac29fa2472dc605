//! Randomness of this crate, from the operating system alone.

use zeroize::Zeroizing;

pub(crate) fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0u8; N];
    getrandom::fill(&mut bytes).expect("the operating system gives random bytes after boot");
    bytes
}

/// Random bytes that are wiped when they are dropped.
pub(crate) fn random_key() -> Zeroizing<[u8; 32]> {
    Zeroizing::new(random())
}
