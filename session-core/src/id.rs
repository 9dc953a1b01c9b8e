//! The name of a session that clients see.

use alloc::string::String;
use alloc::sync::Arc;
use core::borrow::Borrow;
use core::fmt::{self, Write as _};
use core::str::FromStr;

/// The name under which a client knows its session.
///
/// Opaque: 1 to 128 visible ASCII characters (0x21 to 0x7E), the alphabet that MCP's Streamable HTTP transport allows
/// for `Mcp-Session-Id`. Whoever opens a session makes its id from at least 122 random bits of a cryptographically
/// secure source: it is the only thing that keeps one client out of another's session. Cloning is cheap.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionId(Arc<str>);

/// A text that can't be a session id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a session id has 1 to {} visible ASCII characters", SessionId::MAX_LEN)]
#[non_exhaustive]
pub struct InvalidSessionId;

impl SessionId {
    /// The most characters (and bytes) that an id may have.
    pub const MAX_LEN: usize = 128;

    /// An id with this text.
    ///
    /// # Errors
    /// The text is empty, longer than [`MAX_LEN`](Self::MAX_LEN), or has other than visible ASCII characters.
    pub fn new(text: &str) -> Result<Self, InvalidSessionId> {
        let visible = text.bytes().all(|byte| (0x21..=0x7e).contains(&byte));
        if text.is_empty() || text.len() > Self::MAX_LEN || !visible {
            return Err(InvalidSessionId);
        }
        Ok(Self(text.into()))
    }

    /// An id in the form of a version 4 UUID (RFC 9562, section 5.4), which keeps 122 of these bits.
    #[must_use]
    pub fn from_random(mut bits: [u8; 16]) -> Self {
        bits[6] = bits[6] & 0x0f | 0x40;
        bits[8] = bits[8] & 0x3f | 0x80;
        let mut text = String::with_capacity(36);
        for (place, byte) in bits.iter().enumerate() {
            if matches!(place, 4 | 6 | 8 | 10) {
                text.push('-');
            }
            // Writing to a `String` can't fail.
            let _ = write!(text, "{byte:02x}");
        }
        Self(text.into())
    }

    /// The text that clients see.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl AsRef<str> for SessionId {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl Borrow<str> for SessionId {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl FromStr for SessionId {
    type Err = InvalidSessionId;

    fn from_str(text: &str) -> Result<Self, InvalidSessionId> {
        Self::new(text)
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl fmt::Debug for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SessionId({})", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_bits_become_a_version_4_uuid() {
        let id = SessionId::from_random([0xff; 16]);
        assert_eq!(id.as_str(), "ffffffff-ffff-4fff-bfff-ffffffffffff");
        assert_eq!(SessionId::from_random([0; 16]).as_str(), "00000000-0000-4000-8000-000000000000");
    }

    #[test]
    fn only_visible_ascii_of_bounded_length_is_an_id() {
        assert!(SessionId::new("a~!").is_ok());
        assert!(SessionId::new(&"x".repeat(128)).is_ok());
        for bad in ["", "a b", "a\n", "é", "\u{7f}", &"x".repeat(129)] {
            assert_eq!(SessionId::new(bad), Err(InvalidSessionId), "{bad:?}");
        }
    }
}
