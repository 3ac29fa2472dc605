//! Child processes of tests: started with a data directory of their own, killed without mercy,
//! restarted, and read.

mod builder;
mod child;
mod output;
mod port;

pub use builder::{Builder, CHILD_VARIABLE, DATA_DIR_VARIABLE, is_reexecuted, reexec_test};
pub use child::{Process, Termination};
pub use output::{Line, Stream};
pub use port::free_port;
