//! Reading a request's body up to its limit.

use core::time::Duration;

use bytes::{Bytes, BytesMut};
use http::header::EXPECT;
use http::{Request, Response, StatusCode};
use http_body_util::BodyExt;
use hyper::body::{Body as _, Incoming};

use super::answer;
use crate::body::Body;

/// For how long a body that is too large is read on.
const PATIENCE: Duration = Duration::from_secs(5);

/// The whole body.
///
/// A length that is announced and too large is refused before anything is read.
pub(super) async fn read(request: Request<Incoming>, limit: usize) -> Result<Bytes, Response<Body>> {
    let waits = request.headers().contains_key(EXPECT);
    let mut body = request.into_body();
    if body.size_hint().lower() > limit as u64 {
        return Err(too_large(body, waits, limit));
    }
    let mut whole = BytesMut::new();
    let mut first: Option<Bytes> = None;
    while let Some(frame) = body.frame().await {
        // The client went away in the middle of it: nobody will read the answer.
        let Ok(frame) = frame else { return Err(answer::detail(StatusCode::BAD_REQUEST, "incomplete body")) };
        let Ok(data) = frame.into_data() else { continue };
        let length = first.as_ref().map_or(0, Bytes::len) + whole.len() + data.len();
        if length > limit {
            return Err(too_large(body, waits, limit));
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

/// A client that is still sending would meet a reset before it reads the answer: what it sends is read on for a while. One
/// that waits for a 100 (Continue) is not sending.
fn too_large(mut body: Incoming, waits: bool, limit: usize) -> Response<Body> {
    if !waits {
        tokio::spawn(tokio::time::timeout(
            PATIENCE,
            async move { while let Some(Ok(_)) = body.frame().await {} },
        ));
    }
    answer::detail(StatusCode::PAYLOAD_TOO_LARGE, &format!("the body is larger than {limit} bytes"))
}
