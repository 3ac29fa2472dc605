//! Named places at which a test can kill the process.

/// Aborts the process when a test has armed this point. Without the feature `crash-points` it is
/// nothing at all.
///
/// Armed by the environment: `PALYRA_CRASH_POINT=name` or `name:nth`, counted from 1.
#[cfg(feature = "crash-points")]
#[macro_export]
macro_rules! crash_point {
    ($name:literal) => {
        $crate::crash_point_reached($name)
    };
}

/// Nothing: this build has no crash points.
#[cfg(not(feature = "crash-points"))]
#[macro_export]
macro_rules! crash_point {
    ($name:literal) => {};
}

/// The body of [`crash_point!`](crate::crash_point).
#[cfg(feature = "crash-points")]
#[doc(hidden)]
#[allow(clippy::print_stderr, reason = "the test that armed the point reads this line")]
pub fn crash_point_reached(name: &str) {
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicU64, Ordering};

    static ARMED: OnceLock<Option<(String, u64)>> = OnceLock::new();
    static PASSED: AtomicU64 = AtomicU64::new(0);

    let armed = ARMED.get_or_init(|| {
        let value = std::env::var("PALYRA_CRASH_POINT").ok()?;
        Some(match value.rsplit_once(':') {
            Some((point, nth)) => (point.to_owned(), nth.parse().unwrap_or(1)),
            None => (value, 1),
        })
    });
    if let Some((point, nth)) = armed
        && point == name
        && PASSED.fetch_add(1, Ordering::SeqCst) + 1 == *nth
    {
        eprintln!("crash point {name} reached");
        std::process::abort();
    }
}
