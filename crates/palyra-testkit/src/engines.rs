//! One story on every engine.

/// Stamps each story on SQLite and on Postgres: functions that take the caller's `crate::world::World`,
/// which is made by `World::sqlite` or `World::postgres`.
#[macro_export]
#[allow(clippy::crate_in_macro_def, reason = "the world is that of the crate under test")]
macro_rules! on_every_engine {
    ($($story:ident),+ $(,)?) => {
        mod sqlite {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $story() {
                super::$story(crate::world::World::sqlite().await).await;
            })+
        }
        mod postgres {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $story() {
                super::$story(crate::world::World::postgres().await).await;
            })+
        }
    };
}
