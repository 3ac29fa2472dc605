//! Storage, tested from outside: one conformance suite over both engines, and what happens when
//! processes are killed, disks fill up and servers go away.

mod conformance;
mod crash;
mod faults;
mod migrations;
mod world;
