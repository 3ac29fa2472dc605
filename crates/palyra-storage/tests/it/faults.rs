//! What fails around the database: typed errors, no panic, and work goes on when the cause is gone.

mod blobs_refused;
mod corruption;
mod disk_full;
mod foreign;
mod gone;
mod log_index_full;
mod lost_commit;
mod permissions;
mod postgres_away;
mod postgres_codes;
mod postgres_refuses;
mod postgres_silent;
mod s3_away;
mod taken_away;
mod told;
