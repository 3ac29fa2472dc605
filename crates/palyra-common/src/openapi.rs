//! How our values look in the OpenAPI document.

use utoipa::PartialSchema;
use utoipa::openapi::schema::{ObjectBuilder, Schema, SchemaFormat, Type};
use utoipa::openapi::{KnownFormat, RefOr};

use crate::ids::Principal;
use crate::runtime_contracts::ContractDescriptor;
use crate::time::{Duration, Timestamp};

/// A text with a pattern.
pub(crate) fn text(doc: &str, pattern: &str) -> RefOr<Schema> {
    let object = ObjectBuilder::new().schema_type(Type::String);
    object.description(Some(doc)).pattern(Some(pattern)).into()
}

/// One of the canonical values.
pub(crate) fn contract(contract: &ContractDescriptor) -> RefOr<Schema> {
    let values = contract.values.iter().map(|value| value.wire);
    let object = ObjectBuilder::new().schema_type(Type::String);
    object.description(Some(contract.doc)).enum_values(Some(values)).into()
}

impl PartialSchema for Timestamp {
    fn schema() -> RefOr<Schema> {
        let format = SchemaFormat::KnownFormat(KnownFormat::Int64);
        let object = ObjectBuilder::new().schema_type(Type::Integer).format(Some(format));
        object.description(Some("Milliseconds since 1970-01-01T00:00:00Z")).into()
    }
}

impl utoipa::ToSchema for Timestamp {}

impl PartialSchema for Duration {
    fn schema() -> RefOr<Schema> {
        text("A length of time, as 1500ms, 10s, 15m, 24h or 7d", "^[0-9]+(ms|s|m|h|d)$")
    }
}

impl utoipa::ToSchema for Duration {}

/// How a rule names a person or a channel.
pub(crate) struct PlatformId;

impl PartialSchema for PlatformId {
    fn schema() -> RefOr<Schema> {
        // Blanks around it are left out. What is counted is bytes, which a pattern cannot: those
        // outside of ASCII are up to four each.
        let inner = r"[!-~]{1,128}|[^\s\x00-\x1f\x7f-\x9f]{1,32}";
        let doc = "An id as its platform writes it: 1 to 128 bytes, no blanks";
        text(doc, &format!(r"^[ \t\n\r]*({inner})[ \t\n\r]*$"))
    }
}

impl utoipa::ToSchema for PlatformId {}

impl PartialSchema for Principal {
    fn schema() -> RefOr<Schema> {
        let pattern = "^(system|(operator|device|channel|agent):[A-Za-z0-9.:_-]{1,128})$";
        text("Who acts, as operator:owner", pattern)
    }
}

impl utoipa::ToSchema for Principal {}
