//! Thread and timing facts of the driver.
#![cfg(feature = "driver")]

mod smoke;
