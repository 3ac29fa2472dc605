//! Pictures that whoever began a run has brought: in a context they stand as words until a model is
//! asked.

use palyra_common::tape::{Brought, BroughtImage, BroughtMessage};
use palyra_models::{MediaType, ModelRequest, Part, Turn};

use super::drive::Held;
use crate::error::GatewayError;

/// What stands for a picture.
pub(super) fn placeholder(image: &BroughtImage) -> String {
    format!("[{} {}]", image.media_type, image.blob)
}

/// Those in what was brought.
pub(crate) fn images(brought: &Brought) -> impl Iterator<Item = &BroughtImage> {
    brought.messages.iter().flat_map(|message| match message {
        BroughtMessage::User { images, .. } => images.as_slice(),
        BroughtMessage::Program { .. }
        | BroughtMessage::Assistant { .. }
        | BroughtMessage::Tool { .. } => &[],
    })
}

impl Held {
    /// Puts these pictures where words stand for them.
    pub(super) async fn show(
        &self,
        images: &[BroughtImage],
        request: &mut ModelRequest,
    ) -> Result<(), GatewayError> {
        for image in images {
            let (Ok(id), Some(media_type)) = (image.blob.parse(), media_type(&image.media_type))
            else {
                continue;
            };
            let (bytes, words) = (self.options.blobs.get(&id).await?, placeholder(image));
            let is_it = |part: &&mut Part| matches!(part, Part::Text { text } if *text == words);
            let parts = request.turns.iter_mut().flat_map(|turn| match turn {
                Turn::User { parts } => parts.as_mut_slice(),
                Turn::Assistant { .. } | Turn::ToolResults { .. } => &mut [],
            });
            for part in parts.filter(is_it) {
                *part = Part::Image { media_type, bytes: bytes.clone() };
            }
        }
        Ok(())
    }
}

/// The kind of a picture, if models take it.
pub(crate) fn media_type(name: &str) -> Option<MediaType> {
    let all = [MediaType::Png, MediaType::Jpeg, MediaType::Gif, MediaType::Webp];
    all.into_iter().find(|kind| kind.as_str() == name)
}
