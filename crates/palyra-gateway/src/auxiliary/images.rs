//! What a model is to look at, as far as it is what its contract says.

use palyra_common::auxiliary::{AuxiliaryInput, ImageRef, MAX_IMAGE_BYTES, MAX_IMAGES_BYTES};
use palyra_models::{MediaType, Part};
use palyra_storage::blob::BlobStore;

/// Reads the images of a task. The error says what is wrong with them.
pub(super) async fn read(input: &AuxiliaryInput, blobs: &BlobStore) -> Result<Vec<Part>, String> {
    let images = match input {
        AuxiliaryInput::Vision(vision) => vision.images.as_slice(),
        AuxiliaryInput::Summary(_)
        | AuxiliaryInput::RecallSearch(_)
        | AuxiliaryInput::Classification(_)
        | AuxiliaryInput::Extraction(_)
        | AuxiliaryInput::ObjectiveJudge(_) => &[],
    };
    let (mut parts, mut all) = (Vec::new(), 0);
    for image in images {
        let (part, size) = one(image, blobs).await?;
        all += size;
        if all > MAX_IMAGES_BYTES {
            return Err(format!("the images have more than {MAX_IMAGES_BYTES} bytes together"));
        }
        parts.push(part);
    }
    Ok(parts)
}

async fn one(image: &ImageRef, blobs: &BlobStore) -> Result<(Part, usize), String> {
    let ImageRef { media_type, blob } = image;
    let media_type = named(media_type).ok_or_else(|| format!("{media_type} is no image"))?;
    let id = blob.parse().map_err(|_| format!("{blob} names no blob"))?;
    let size = blobs.size(&id).await.map_err(|error| error.to_string())?;
    let size = size.ok_or_else(|| format!("the image {blob} is gone"))?;
    if size > MAX_IMAGE_BYTES as u64 {
        return Err(format!("the image {blob} has {size} bytes, and may have {MAX_IMAGE_BYTES}"));
    }
    let bytes = blobs.get(&id).await.map_err(|error| error.to_string())?;
    if !begins_like(media_type, &bytes) {
        return Err(format!("the image {blob} is no {}", media_type.as_str()));
    }
    let size = bytes.len();
    Ok((Part::Image { media_type, bytes }, size))
}

fn named(media_type: &str) -> Option<MediaType> {
    let all = [MediaType::Png, MediaType::Jpeg, MediaType::Gif, MediaType::Webp];
    all.into_iter().find(|known| known.as_str() == media_type)
}

/// Whether a file begins as one of this kind does: whoever named it may have been wrong.
fn begins_like(media_type: MediaType, bytes: &[u8]) -> bool {
    match media_type {
        MediaType::Png => bytes.starts_with(b"\x89PNG\r\n\x1a\n"),
        MediaType::Jpeg => bytes.starts_with(b"\xff\xd8\xff"),
        MediaType::Gif => bytes.starts_with(b"GIF87a") || bytes.starts_with(b"GIF89a"),
        MediaType::Webp => bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP"),
    }
}
