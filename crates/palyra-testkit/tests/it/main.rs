//! The testkit tested: what it promises to tests of other crates.

#[cfg(test)]
mod postgres_server;
