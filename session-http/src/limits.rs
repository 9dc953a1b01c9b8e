//! What a server allows its clients.

use core::time::Duration;

/// Limits and deadlines of connections. The defaults suit a server behind a proxy as well as one without.
///
/// ```
/// use core::time::Duration;
/// use session_http::Limits;
///
/// let limits = Limits { connections: 500, header_timeout: Duration::from_secs(5), ..Limits::default() };
/// assert_eq!(limits.streams, 256);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Limits {
    /// How many connections may be open at once, over all listeners. One more gets a short 503 and is closed. Default
    /// 10,000.
    pub connections: usize,
    /// How long a client may take to send a request's head, from the moment the connection could read it. It is also
    /// how long an HTTP/1.1 connection may stay idle between two requests. Default 30 s.
    pub header_timeout: Duration,
    /// How long answers in flight have to be delivered once every session is closed; what is left then is cut. Default
    /// 2 s.
    pub connection_drain: Duration,
    /// How many requests one HTTP/2 connection may have in flight. Default 256.
    pub streams: u32,
    /// After how long of silence a TCP peer is probed (and given up a minute later). Default 60 s.
    pub tcp_keepalive: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 10_000,
            header_timeout: Duration::from_secs(30),
            connection_drain: Duration::from_secs(2),
            streams: 256,
            tcp_keepalive: Duration::from_secs(60),
        }
    }
}
