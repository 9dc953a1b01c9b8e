//! Reading a request's body up to its limit.

use bytes::{Bytes, BytesMut};
use http::{Request, Response, StatusCode};
use http_body_util::BodyExt;
use hyper::body::{Body as _, Incoming};

use super::answer;
use crate::body::Body;

/// The whole body.
///
/// A length that is announced and too large is refused before anything is read.
pub(super) async fn read(request: Request<Incoming>, limit: usize) -> Result<Bytes, Response<Body>> {
    let mut body = request.into_body();
    if body.size_hint().lower() > limit as u64 {
        return Err(too_large(limit));
    }
    let mut whole = BytesMut::new();
    let mut first: Option<Bytes> = None;
    while let Some(frame) = body.frame().await {
        // The client went away in the middle of it: nobody will read the answer.
        let Ok(frame) = frame else { return Err(answer::detail(StatusCode::BAD_REQUEST, "incomplete body")) };
        let Ok(data) = frame.into_data() else { continue };
        let length = first.as_ref().map_or(0, Bytes::len) + whole.len() + data.len();
        if length > limit {
            return Err(too_large(limit));
        }
        // Most bodies come in one piece, which is not copied.
        match first.take() {
            None if whole.is_empty() => first = Some(data),
            None => whole.extend_from_slice(&data),
            Some(before) => {
                whole.extend_from_slice(&before);
                whole.extend_from_slice(&data);
            }
        }
    }
    Ok(first.unwrap_or_else(|| whole.freeze()))
}

fn too_large(limit: usize) -> Response<Body> {
    answer::detail(StatusCode::PAYLOAD_TOO_LARGE, &format!("the body is larger than {limit} bytes"))
}
