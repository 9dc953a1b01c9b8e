//! What is on the wire, over real sockets.

mod capacity;
mod example;
mod limits;
mod rest;
mod rpc;
mod world;
