//! The machinery behind the registry: [`error_codes!`] turns its table into an enum.

use thiserror::Error;

/// A text that is not a registered code; it may come from a newer version.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("unknown error code {0:?}")]
pub struct UnknownErrorCode(pub(super) String);

/// Whether the same request can succeed later without a change to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Retry {
    Retryable,
    Final,
}

macro_rules! error_codes {
    ($(
        $variant:ident = $wire:literal, $retry:ident,
        means: $meaning:literal,
        hint: $hint:literal;
    )+) => {
        /// A stable error code, written `domain/reason` on the wire.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum ErrorCode {$(
            #[doc = concat!("`", $wire, "`: ", $meaning, ".")]
            $variant,
        )+}

        impl ErrorCode {
            /// Every code, in the order of the registry.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The wire value.
            pub const fn as_str(self) -> &'static str {
                match self {$(Self::$variant => $wire,)+}
            }

            /// What happened, in one sentence without a final dot.
            pub const fn meaning(self) -> &'static str {
                match self {$(Self::$variant => $meaning,)+}
            }

            /// What to do about it, in one or more sentences.
            pub const fn hint(self) -> &'static str {
                match self {$(Self::$variant => $hint,)+}
            }

            /// Whether the same request can succeed later without a change to it.
            pub const fn retryable(self) -> bool {
                match self {$(Self::$variant => matches!(Retry::$retry, Retry::Retryable),)+}
            }
        }
    };
}

pub(super) use error_codes;
