//! A request as a model can take it.

use super::ModelInfo;
use crate::request::{ModelRequest, Part, Turn};

/// The request for this model, without what it cannot do.
pub(super) fn to_model(request: &ModelRequest, info: &ModelInfo) -> ModelRequest {
    let mut request = request.clone();
    request.model = info.model.clone();
    request.max_output_tokens = request.max_output_tokens.clamp(1, info.max_output_tokens.max(1));
    if !info.capabilities.tools {
        request.tools.clear();
    }
    if !info.capabilities.images {
        request.turns.iter_mut().for_each(describe_images);
    }
    request
}

/// Says that there was a picture, where it was.
fn describe_images(turn: &mut Turn) {
    let Turn::User { parts } = turn else { return };
    for part in parts {
        if let Part::Image { media_type, bytes } = part {
            let (kind, size) = (media_type.as_str(), bytes.len());
            *part = Part::text(format!("[{kind} of {size} bytes, which this model cannot see]"));
        }
    }
}
