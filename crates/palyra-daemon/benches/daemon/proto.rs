//! What is made of `schemas/proto` for those who ask, and for a server with nothing around it.
#![allow(clippy::all, dead_code, unreachable_pub, unused_qualifications, reason = "generated")]

include!(concat!(env!("OUT_DIR"), "/outside/palyra.gateway.v1.rs"));
