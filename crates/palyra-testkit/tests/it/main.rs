//! The testkit tested: what it promises to tests of other crates.

#[cfg(test)]
mod clock;
#[cfg(test)]
mod crash;
#[cfg(test)]
mod file_system;
#[cfg(test)]
mod model_sim;
#[cfg(test)]
mod orphans;
#[cfg(test)]
mod postgres_client;
#[cfg(test)]
mod postgres_proxy;
#[cfg(test)]
mod postgres_server;
#[cfg(test)]
mod postgres_shared;
#[cfg(test)]
mod process;
#[cfg(test)]
mod seed;
#[cfg(test)]
#[cfg(target_os = "linux")]
mod small_disk;
#[cfg(test)]
mod world;
