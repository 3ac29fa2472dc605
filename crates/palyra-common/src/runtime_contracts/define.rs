//! The macro that defines runtime contracts.

/// Defines one or more enums of the runtime vocabulary, and beside them `CONTRACTS`, which the
/// registry collects. So it is used once per module.
///
/// ```ignore
/// runtime_contract_enum! {
///     /// What the enum is.
///     pub enum Fruit {
///         /// What the value means.
///         Apple = "apple" ["pomme", "apfel"],
///         /// What the value means.
///         Pear = "pear",
///     }
/// }
/// ```
///
/// Per enum: `ALL`, `CONTRACT`, `as_str`, `json_schema`, `Display`, `FromStr`, serde. Two spellings
/// in one enum that differ only in case do not compile.
macro_rules! runtime_contract_enum {
    ($(
        $(#[doc = $doc:literal])+
        pub enum $name:ident {$(
            $(#[doc = $value_doc:literal])+
            $variant:ident = $wire:literal $([$($alias:literal),+ $(,)?])?,
        )+}
    )+) => {
        $(
            $(#[doc = $doc])+
            #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
            pub enum $name {$(
                $(#[doc = $value_doc])+
                $variant,
            )+}

            impl $name {
                /// Every value, in the order of declaration.
                pub const ALL: &'static [Self] = &[$(Self::$variant),+];

                /// The description of this enum, as it stands in the registry.
                pub const CONTRACT: &'static $crate::runtime_contracts::ContractDescriptor =
                    &$crate::runtime_contracts::ContractDescriptor {
                        name: stringify!($name),
                        doc: concat!($($doc),+).trim_ascii(),
                        values: &[$($crate::runtime_contracts::ContractValue {
                            wire: $wire,
                            doc: concat!($($value_doc),+).trim_ascii(),
                            aliases: &[$($($alias),+)?],
                        }),+],
                        canonical: |text| text.parse::<Self>().map(Self::as_str),
                    };

                /// The canonical wire value.
                pub const fn as_str(self) -> &'static str {
                    match self {$(Self::$variant => $wire,)+}
                }

                /// The JSON Schema of the wire form.
                pub fn json_schema() -> ::serde_json::Value {
                    Self::CONTRACT.json_schema()
                }
            }

            const _: () = $name::CONTRACT.assert_sound();

            impl ::std::fmt::Display for $name {
                fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                    f.pad(self.as_str())
                }
            }

            impl ::std::str::FromStr for $name {
                type Err = $crate::runtime_contracts::ParseContractError;

                fn from_str(text: &str) -> Result<Self, Self::Err> {
                    Self::CONTRACT.position(text).map(|index| Self::ALL[index])
                }
            }

            impl ::serde::Serialize for $name {
                fn serialize<S: ::serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                    to.serialize_str(self.as_str())
                }
            }

            impl<'de> ::serde::Deserialize<'de> for $name {
                fn deserialize<D: ::serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                    $crate::serde_text::deserialize(from, concat!("a ", stringify!($name)))
                }
            }

            #[cfg(feature = "openapi")]
            impl ::utoipa::PartialSchema for $name {
                fn schema() -> ::utoipa::openapi::RefOr<::utoipa::openapi::schema::Schema> {
                    $crate::openapi::contract(Self::CONTRACT)
                }
            }

            #[cfg(feature = "openapi")]
            impl ::utoipa::ToSchema for $name {}
        )+

        pub(crate) const CONTRACTS: &[&$crate::runtime_contracts::ContractDescriptor] =
            &[$($name::CONTRACT),+];
    };
}

pub(crate) use runtime_contract_enum;
