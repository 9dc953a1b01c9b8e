//! Time as the machine sees it: a number that its driver passes in.

use core::fmt;
use core::time::Duration;

/// A moment, in nanoseconds since an origin that the driver chose.
///
/// Not `std::time::Instant`: it exists without `std`, a test can construct it, and it takes eight bytes. It saturates
/// instead of overflowing: the last representable moment is 584 years after the origin.
///
/// ```
/// # use session_core::Timestamp;
/// # use core::time::Duration;
/// let later = Timestamp::ORIGIN + Duration::from_secs(3);
/// assert_eq!(later.since(Timestamp::ORIGIN), Duration::from_secs(3));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Timestamp(u64);

impl Timestamp {
    /// The moment from which the driver counts.
    pub const ORIGIN: Self = Self(0);

    /// The moment `nanos` nanoseconds after the origin.
    #[must_use]
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// Nanoseconds since the origin.
    #[must_use]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// The time from `earlier` to `self`; zero if `earlier` is later.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

impl core::ops::Add<Duration> for Timestamp {
    type Output = Self;

    fn add(self, span: Duration) -> Self {
        let nanos = u64::try_from(span.as_nanos()).unwrap_or(u64::MAX);
        Self(self.0.saturating_add(nanos))
    }
}

impl fmt::Debug for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", Duration::from_nanos(self.0))
    }
}
