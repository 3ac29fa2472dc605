use std::cell::Cell;

use futures_util::future::{FutureExt, pending};

use super::*;

/// Ends a commit, and says what was told of it and whether it was asked for.
fn commit(
    sent: impl Future<Output = Result<(), &'static str>>,
) -> (Option<Result<(), &'static str>>, bool) {
    let asked = Cell::new(false);
    let committing = async {
        asked.set(true);
        Ok(())
    };
    let told = commit_behind(sent, committing).now_or_never();
    (told, asked.get())
}

#[test]
fn nothing_is_committed_without_what_could_not_be_sent() {
    assert_eq!(commit(ready(Err("too long"))), (Some(Err("too long")), false));
    assert_eq!(commit(ready(Ok(()))), (Some(Ok(())), true));
}

/// What was sent is on its way before the COMMIT, and that does not wait for its answer.
#[test]
fn a_commit_travels_with_what_was_sent() {
    assert_eq!(commit(pending()), (None, true));
    let mut polls = 0;
    let refused = poll_fn(|context| {
        polls += 1;
        if polls == 1 {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        Poll::Ready(Err("refused"))
    });
    assert_eq!(commit(refused), (Some(Err("refused")), true));
}

#[test]
fn what_fits_can_be_encoded_and_nothing_else() {
    let large = i64::from(i32::MAX) + 1;
    let params = [
        Param::Null,
        Param::Int(1),
        Param::Int(large),
        Param::Real(1.0),
        Param::Text("a".into()),
        Param::Blob(b"a".as_slice().into()),
    ];
    let types =
        [Type::INT8, Type::INT4, Type::FLOAT8, Type::TEXT, Type::VARCHAR, Type::BYTEA, Type::BOOL];
    for param in &params {
        for ty in &types {
            let encoded = param.to_sql(ty, &mut BytesMut::new()).is_ok();
            assert_eq!(encoded, fits(param, ty), "{param:?} as {ty}");
        }
    }
    assert!(!fits(&Param::Int(large), &Type::INT4));
    assert!(!fits(&Param::Text("1".into()), &Type::INT8));
}
