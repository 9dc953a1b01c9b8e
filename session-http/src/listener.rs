//! Where connections come from.

use core::pin::Pin;
use core::time::Duration;
use std::io;

use socket2::{SockRef, TcpKeepalive};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpSocket, TcpStream, lookup_host};
#[cfg(unix)]
use tokio::net::{UnixListener, UnixStream};

use crate::{Limits, StartError};

/// Something that connections come from. Implement it for what wraps a socket, such as TLS.
pub trait Listener: Send + 'static {
    /// A connection.
    type Stream: AsyncRead + AsyncWrite + Unpin + Send + 'static;

    /// The next connection. Must be cancel safe: a dropped future has taken no connection.
    ///
    /// # Errors
    /// What the system says. The server logs it, waits a little where waiting helps, and asks again.
    fn accept(&mut self) -> impl Future<Output = io::Result<Self::Stream>> + Send;

    /// Prepares a connection before the first byte is read. What fails here fails again, and louder, when it is used.
    fn prepare(_stream: &Self::Stream, _limits: &Limits) {}

    /// Where clients find it, as a URL, for the log.
    fn url(&self) -> String;
}

impl Listener for TcpListener {
    type Stream = TcpStream;

    async fn accept(&mut self) -> io::Result<TcpStream> {
        Self::accept(self).await.map(|(stream, _)| stream)
    }

    fn prepare(stream: &TcpStream, limits: &Limits) {
        // Answers are short and complete: waiting for more to send would only delay them.
        let _ = stream.set_nodelay(true);
        let probe = TcpKeepalive::new().with_time(limits.tcp_keepalive).with_interval(PROBE_INTERVAL);
        let _ = SockRef::from(stream).set_tcp_keepalive(&probe);
    }

    fn url(&self) -> String {
        self.local_addr().map_or_else(|_| "http://?".to_owned(), |address| format!("http://{address}"))
    }
}

#[cfg(unix)]
impl Listener for UnixListener {
    type Stream = UnixStream;

    async fn accept(&mut self) -> io::Result<UnixStream> {
        Self::accept(self).await.map(|(stream, _)| stream)
    }

    fn url(&self) -> String {
        let address = self.local_addr().ok();
        let path = address.as_ref().and_then(|address| address.as_pathname());
        path.map_or_else(|| "unix:?".to_owned(), |path| format!("unix:{}", path.display()))
    }
}

/// Between two probes of a silent TCP peer.
const PROBE_INTERVAL: Duration = Duration::from_secs(15);

/// How many connections the system may hold until they are accepted. Tokio's own 1024 is little for a server to which
/// a thousand clients reconnect at once.
const BACKLOG: u32 = 4096;

/// A TCP listener at the first address of `address` that can be had.
pub(crate) async fn bind(address: &str) -> Result<TcpListener, StartError> {
    let failed = |source| StartError::Bind { address: address.to_owned(), source };
    let mut last = io::Error::new(io::ErrorKind::AddrNotAvailable, "the name has no address");
    for candidate in lookup_host(address).await.map_err(failed)? {
        let socket = if candidate.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() };
        let listening = socket.and_then(|socket| {
            // A restarted server must not wait for the last connections of the old one to time out.
            socket.set_reuseaddr(true)?;
            socket.bind(candidate)?;
            socket.listen(BACKLOG)
        });
        match listening {
            Ok(listener) => return Ok(listener),
            Err(error) => last = error,
        }
    }
    Err(failed(last))
}

/// A connection of any listener. One indirect call a read or write, no allocation.
pub(crate) trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}

impl<T: AsyncRead + AsyncWrite + Unpin + Send> Stream for T {}

type Accepting<'a> = Pin<Box<dyn Future<Output = io::Result<Box<dyn Stream>>> + Send + 'a>>;

/// A [`Listener`] of any type, so that one server can have several.
pub(crate) trait AnyListener: Send {
    fn accept<'a>(&'a mut self, limits: &'a Limits) -> Accepting<'a>;
    fn url(&self) -> String;
}

impl<L: Listener> AnyListener for L {
    fn accept<'a>(&'a mut self, limits: &'a Limits) -> Accepting<'a> {
        Box::pin(async move {
            let stream = Listener::accept(self).await?;
            L::prepare(&stream, limits);
            Ok(Box::new(stream) as Box<dyn Stream>)
        })
    }

    fn url(&self) -> String {
        Listener::url(self)
    }
}
