//! What fails around the database: typed errors, no panic, and work goes on when the cause is gone.

mod corruption;
mod disk_full;
mod lost_commit;
mod permissions;
mod postgres_away;
mod s3_away;
