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
    /// How long a client may take to send a request's head: the first from the moment of the connection, the others
    /// from their first byte. Default 30 s.
    pub header_timeout: Duration,
    /// About how many bytes a request's head may have; a longer one gets a 431. Less than 8 KiB count as 8 KiB. Default
    /// 64 KiB. (More than 100 header fields are never taken.)
    pub header_bytes: usize,
    /// How long a connection may be open without a request. It should exceed what a proxy in front keeps idle
    /// connections for, or the proxy will send requests into connections that close at that moment. Default 2 min.
    pub connection_idle: Duration,
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
            header_bytes: 64 << 10,
            connection_idle: Duration::from_secs(120),
            connection_drain: Duration::from_secs(2),
            streams: 256,
            tcp_keepalive: Duration::from_secs(60),
        }
    }
}
