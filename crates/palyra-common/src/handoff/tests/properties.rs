use proptest::prelude::*;
use proptest::sample::select;

use crate::handoff::{
    CrossSurfaceHandoff, HandoffField, ParsedHandoff, parse_console_handoff, parse_handoff_token,
    to_handoff_token, to_handoff_url,
};
use crate::ids::{ConnectorId, RunId, SurfaceId};
use crate::runtime_contracts::{HandoffIntent, HandoffSection, TelemetrySurface};
use crate::time::Timestamp;

prop_compose! {
    fn any_ulid()(millis in 0_i64..(1 << 48), entropy: u128) -> String {
        RunId::from_parts(Timestamp::from_unix_millis(millis), entropy).to_string()
    }
}

prop_compose! {
    fn any_handoff()(
        section in select(HandoffSection::ALL),
        ids in prop::array::uniform4(prop::option::of(any_ulid())),
        names in prop::array::uniform2(prop::option::of("[A-Za-z0-9.:_-]{1,128}")),
        intent in prop::option::of(select(HandoffIntent::ALL)),
        source in select(TelemetrySurface::ALL),
    ) -> CrossSurfaceHandoff {
        let [session_id, run_id, approval_id, objective_id] = ids;
        let [connector_id, surface_id] = names;
        CrossSurfaceHandoff {
            session_id: session_id.map(|id| id.parse().unwrap()),
            run_id: run_id.map(|id| id.parse().unwrap()),
            approval_id: approval_id.map(|id| id.parse().unwrap()),
            objective_id: objective_id.map(|id| id.parse().unwrap()),
            connector_id: connector_id.map(|id| id.parse::<ConnectorId>().unwrap()),
            surface_id: surface_id.map(|id| id.parse::<SurfaceId>().unwrap()),
            intent,
            ..CrossSurfaceHandoff::to_section(section, source)
        }
    }
}

/// A query that has the right names and anything at all as their values.
fn any_query() -> impl Strategy<Value = String> {
    let pair = (select(HandoffField::ALL), "\\PC{0,30}").prop_map(|(field, value)| {
        form_urlencoded::Serializer::new(String::new()).append_pair(field.as_str(), &value).finish()
    });
    prop_oneof!["\\PC{0,120}", prop::collection::vec(pair, 0..12).prop_map(|pairs| pairs.join("&")),]
}

fn read_url(url: &str) -> ParsedHandoff {
    parse_console_handoff(url.strip_prefix('/').unwrap_or(url))
}

proptest! {
    #[test]
    fn a_url_leads_to_where_it_was_made(handoff in any_handoff()) {
        let parsed = read_url(&to_handoff_url(&handoff));
        prop_assert_eq!(parsed, ParsedHandoff { handoff, notices: Vec::new() });
    }

    #[test]
    fn a_token_leads_to_where_it_was_made(handoff in any_handoff()) {
        let parsed = parse_handoff_token(&to_handoff_token(&handoff)).unwrap();
        prop_assert_eq!(parsed, ParsedHandoff { handoff, notices: Vec::new() });
    }

    #[test]
    fn a_url_is_plain_ascii_without_a_fragment(handoff in any_handoff()) {
        let url = to_handoff_url(&handoff);
        prop_assert!(url.bytes().all(|b| b.is_ascii_graphic() && b != b'#'), "{}", url);
    }

    #[test]
    fn whatever_was_understood_of_a_query_reads_back_without_notices(query in any_query()) {
        let parsed = parse_console_handoff(&query);
        let again = read_url(&to_handoff_url(&parsed.handoff));
        prop_assert_eq!(&again.handoff, &parsed.handoff);
        prop_assert_eq!(again.notices, []);
        // A field is either taken or reported, at most once, in order.
        let fields: Vec<_> = parsed.notices.iter().map(|notice| notice.field).collect();
        prop_assert!(fields.is_sorted_by(|a, b| a < b), "{:?}", fields);
    }
}
