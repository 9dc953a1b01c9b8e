//! Values as people write them: `30s`, `off`, `64MiB`. The same on the command line, in variables and in the file.

use core::fmt;
use core::str::FromStr;
use core::time::Duration;

use serde::de::{Deserialize, Deserializer, Error as _, Visitor};

/// A length of time: `500ms`, `30s`, `5m`, `2h`, or plain seconds, `1.5`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span(pub Duration);

/// A time limit that can be off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeLimit {
    /// There is none.
    Off,
    /// It is this long.
    After(Duration),
}

/// A number of bytes: `1048576`, `64KiB`, `64MiB`, `1GiB`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size(pub usize);

/// A value that can't be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidValue {
    /// Not a length of time.
    #[error("write a length of time such as 500ms, 30s, 5m, 2h, or plain seconds")]
    Span,
    /// Not a length of time, and not `off`.
    #[error("write a length of time such as 500ms, 30s, 5m, 2h, or plain seconds; or off")]
    TimeLimit,
    /// Not a number of bytes.
    #[error("write a number of bytes such as 1048576, 512KiB, 64MiB or 1GiB")]
    Size,
}

/// Longer than any process lives, and far from the overflow of a clock.
const LONGEST: Duration = Duration::from_secs(100 * 365 * 86_400);

impl FromStr for Span {
    type Err = InvalidValue;

    fn from_str(text: &str) -> Result<Self, InvalidValue> {
        let (number, unit) = split(text);
        let seconds = match unit {
            "ms" => 1e-3,
            "" | "s" => 1.0,
            "m" | "min" => 60.0,
            "h" => 3600.0,
            _ => return Err(InvalidValue::Span),
        };
        let number: f64 = number.parse().map_err(|_| InvalidValue::Span)?;
        let span = Duration::try_from_secs_f64(number * seconds).map_err(|_| InvalidValue::Span)?;
        if span <= LONGEST { Ok(Self(span)) } else { Err(InvalidValue::Span) }
    }
}

impl FromStr for TimeLimit {
    type Err = InvalidValue;

    fn from_str(text: &str) -> Result<Self, InvalidValue> {
        match text.trim() {
            "off" => Ok(Self::Off),
            text => text.parse().map(|Span(after)| Self::After(after)).map_err(|_| InvalidValue::TimeLimit),
        }
    }
}

impl From<TimeLimit> for Option<Duration> {
    fn from(limit: TimeLimit) -> Self {
        match limit {
            TimeLimit::Off => None,
            TimeLimit::After(after) => Some(after),
        }
    }
}

impl FromStr for Size {
    type Err = InvalidValue;

    fn from_str(text: &str) -> Result<Self, InvalidValue> {
        let (number, unit) = split(text);
        let factor: usize = match unit {
            "" | "B" => 1,
            "KiB" => 1 << 10,
            "MiB" => 1 << 20,
            "GiB" => 1 << 30,
            _ => return Err(InvalidValue::Size),
        };
        let number: usize = number.parse().map_err(|_| InvalidValue::Size)?;
        number.checked_mul(factor).map(Self).ok_or(InvalidValue::Size)
    }
}

/// The number and what follows it.
fn split(text: &str) -> (&str, &str) {
    let text = text.trim();
    let end = text.find(|at: char| !at.is_ascii_digit() && at != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    (number, unit.trim_start())
}

/// A string or number of a file, as text: `timeout = 30` means what `timeout = "30"` means.
struct Scalar(String);

impl<'de> Deserialize<'de> for Scalar {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reading;

        impl Visitor<'_> for Reading {
            type Value = Scalar;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string or a number")
            }

            fn visit_str<E>(self, text: &str) -> Result<Scalar, E> {
                Ok(Scalar(text.to_owned()))
            }

            fn visit_i64<E>(self, number: i64) -> Result<Scalar, E> {
                Ok(Scalar(number.to_string()))
            }

            fn visit_f64<E>(self, number: f64) -> Result<Scalar, E> {
                Ok(Scalar(number.to_string()))
            }
        }

        deserializer.deserialize_any(Reading)
    }
}

macro_rules! deserialize_as_written {
    ($($value:ty),+) => {
        $(impl<'de> Deserialize<'de> for $value {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                Scalar::deserialize(deserializer)?.0.parse().map_err(D::Error::custom)
            }
        })+
    };
}

deserialize_as_written!(Span, TimeLimit, Size);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_of_time_are_read_as_people_write_them() {
        let read = |text: &str| text.parse::<Span>().map(|span| span.0.as_millis());
        let expected = [("500ms", 500), ("30s", 30_000), ("5m", 300_000), ("2 h", 7_200_000), ("1.5", 1500)];
        for (text, millis) in expected {
            assert_eq!(read(text), Ok(millis), "{text}");
        }
        for text in ["", "soon", "5 minutes", "-3", "1e9", "99999999999h", "off"] {
            assert_eq!(read(text), Err(InvalidValue::Span), "{text}");
        }
    }

    #[test]
    fn a_limit_can_be_off() {
        assert_eq!("off".parse(), Ok(TimeLimit::Off));
        assert_eq!("3s".parse(), Ok(TimeLimit::After(Duration::from_secs(3))));
        assert_eq!("never".parse::<TimeLimit>(), Err(InvalidValue::TimeLimit));
    }

    #[test]
    fn sizes_have_binary_units_and_do_not_overflow() {
        assert_eq!("64MiB".parse(), Ok(Size(64 << 20)));
        assert_eq!("12".parse(), Ok(Size(12)));
        for text in ["64MB", "99999999999999GiB", "1.5KiB"] {
            assert_eq!(text.parse::<Size>(), Err(InvalidValue::Size), "{text}");
        }
    }
}
