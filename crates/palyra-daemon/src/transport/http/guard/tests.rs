use axum::body::Body;
use http_body_util::BodyExt;

use super::*;

/// What is said to a request that takes too long: the error, and whether it is to be sent again.
async fn said(path: &str, key: Option<&str>) -> (String, Option<String>) {
    let mut request = Request::post(path);
    if let Some(key) = key {
        request = request.header("Idempotency-Key", key);
    }
    let patience = Patience::of(&request.body(Body::empty()).unwrap());
    let limit = patience.limit(Duration::from_secs(1));
    let mut response = patience.is_over(limit);
    if openai::is_theirs(path) {
        response = openai::shaped(response);
    }
    assert_eq!(response.status().as_u16(), 408);
    let again = response.headers().get("x-should-retry");
    let again = again.map(|again| again.to_str().unwrap().to_owned());
    let body = response.into_body().collect().await.unwrap().to_bytes();
    (String::from_utf8(body.to_vec()).unwrap(), again)
}

/// Its run may have acted by then.
#[tokio::test]
async fn a_completion_that_takes_too_long_is_sent_again_only_with_its_key() {
    let (error, again) = said(COMPLETIONS, None).await;
    assert_eq!(again.as_deref(), Some("false"), "{error}");
    assert!(error.contains("`stream`") && !error.contains("request_timeout"), "{error}");
    let (error, again) = said(COMPLETIONS, Some("k")).await;
    assert_eq!(again.as_deref(), Some("true"), "{error}");
    assert!(error.contains("same Idempotency-Key for") && !error.contains("timeout;"), "{error}");
}

#[tokio::test]
async fn an_option_is_named_only_where_it_helps() {
    let (error, again) = said("/admin/v1/runs", None).await;
    assert!(error.contains("within 1s; see http.request_timeout") && again.is_none(), "{error}");
    for path in LONG_WORK {
        let (error, _) = said(path, None).await;
        assert!(!error.contains("http.request_timeout"), "{error}");
    }
}
