//! From the start to the exit: accepting, signals, the log, and the report at the end.

pub(crate) mod accept;
pub(crate) mod budget;
pub(crate) mod exit;
pub(crate) mod log;
pub(crate) mod signals;
mod trouble;
