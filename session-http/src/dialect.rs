//! Wire protocols. Each is one folder that translates between its words and calls on sessions, and knows no rule about
//! their life.

pub(crate) mod openenv;
