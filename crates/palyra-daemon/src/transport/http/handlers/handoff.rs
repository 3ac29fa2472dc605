use axum::Json;
use axum::extract::{RawQuery, State};
use palyra_common::ErrorCode;
use palyra_common::api::{DroppedField, HandoffRead};
use palyra_common::handoff::{
    HandoffField, HandoffNotice, ParsedHandoff, parse_console_handoff, parse_handoff_token,
    to_handoff_url,
};
use serde::Deserialize;
use utoipa::openapi::Required;
use utoipa::openapi::path::{Parameter, ParameterBuilder, ParameterIn};
use utoipa::openapi::schema::{ObjectBuilder, Type};

use crate::app::App;
use crate::hosts;
use crate::transport::http::body::QueryOf;
use crate::transport::http::caller::Caller;
use crate::transport::http::refusal::{Answer, Refusal};

/// The fields of a handoff in a query. Whatever stands there is read as far as it can be.
pub(crate) struct HandoffFields;

impl utoipa::IntoParams for HandoffFields {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        let field = |field: &palyra_common::runtime_contracts::ContractValue| {
            ParameterBuilder::new()
                .name(field.wire)
                .parameter_in(ParameterIn::Query)
                .required(Required::False)
                .description(Some(field.doc))
                .schema(Some(ObjectBuilder::new().schema_type(Type::String)))
                .build()
        };
        HandoffField::CONTRACT.values.iter().map(field).collect()
    }
}

/// A handoff that is given as a whole.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct Token {
    /// A handoff as a JSON object, which takes the place of the other parameters
    token: Option<String>,
}

/// Says what a handoff means: where it leads, by which address, and what of it cannot be understood
///
/// Unknown pages are the overview, unknown words and what is no id are dropped, each with a notice; whether
/// there is such a thing is not asked. A handoff allows nothing.
#[utoipa::path(get, path = "/console/v1/handoff", tag = "console", params(HandoffFields, Token),
    responses((status = 200, body = HandoffRead)))]
pub(crate) async fn read_handoff(
    State(app): State<App>,
    _caller: Caller,
    RawQuery(query): RawQuery,
    QueryOf(Token { token }): QueryOf<Token>,
) -> Answer<Json<HandoffRead>> {
    let parsed = match token {
        Some(token) => parse_handoff_token(&token)
            .map_err(|error| Refusal::new(ErrorCode::HttpMalformed, format!("token: {error}")))?,
        None => parse_console_handoff(&query.unwrap_or_default()),
    };
    Ok(Json(told(&app, parsed)))
}

fn told(app: &App, parsed: ParsedHandoff) -> HandoffRead {
    let ParsedHandoff { handoff, notices } = parsed;
    let origin = hosts::origin(app.place.http, &app.config().http.public_url);
    let url = format!("{origin}{}", to_handoff_url(&handoff));
    let dropped = |notice: HandoffNotice| DroppedField {
        field: notice.field,
        problem: notice.problem,
        message: notice.to_string(),
    };
    HandoffRead { handoff, notices: notices.into_iter().map(dropped).collect(), url }
}
