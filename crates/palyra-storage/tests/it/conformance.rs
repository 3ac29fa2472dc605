//! What storage promises, checked on every engine.

mod blobs;
mod events;
mod journal;
mod journal_search;
mod leases;
mod notices;
mod once;
mod retention;
mod services;
mod transactions;
mod values;
