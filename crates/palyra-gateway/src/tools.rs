//! The built-in tools, one file each.

mod time;

use std::sync::Arc;

use palyra_common::time::Clock;

use crate::tool::Tool;

/// Those that need nothing but this process.
pub fn built_in(clock: Arc<dyn Clock>) -> Vec<Arc<dyn Tool>> {
    vec![Arc::new(time::Now::new(clock))]
}
