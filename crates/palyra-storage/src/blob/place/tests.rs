use super::*;

fn place(blobs: &str, endpoint: &str) -> Result<Place, String> {
    let config = StorageConfig {
        blobs: blobs.into(),
        blobs_endpoint: endpoint.into(),
        ..StorageConfig::default()
    };
    let whole = config.check();
    let read = Place::of(&config);
    assert_eq!(whole.is_ok(), read.is_ok(), "the configuration as a whole says the same");
    read.map_err(|error| error.to_string())
}

fn bucket(blobs: &str, endpoint: &str) -> Bucket {
    match place(blobs, endpoint) {
        Ok(Place::S3(bucket)) => bucket,
        other => panic!("{blobs} {endpoint}: {other:?}"),
    }
}

#[track_caller]
fn refused(blobs: &str, endpoint: &str, why: &str) {
    let told = place(blobs, endpoint).unwrap_err();
    assert!(told.contains(why), "{blobs} {endpoint}: {told}");
    assert!(!told.contains("geheim"), "{told}");
}

#[test]
fn a_folder_is_given_as_a_path_or_an_address() {
    assert_eq!(place("", ""), Ok(Place::DataDir));
    for text in ["/srv/my blobs", "file:///srv/my%20blobs", "file://localhost/srv/my%20blobs"] {
        assert_eq!(place(text, ""), Ok(Place::Folder("/srv/my blobs".into())), "{text}");
    }
    for text in ["blobs", "./blobs", "~/blobs", "file://server/share", "gs://bucket", "S4://x"] {
        refused(text, "", "absolute folder");
    }
    refused("https://anna:geheim@s3.example.org/bucket", "", "s3://bucket/prefix");
}

#[test]
fn a_bucket_is_given_with_or_without_a_prefix() {
    let whole = bucket("s3://palyra", "");
    assert_eq!((whole.name.as_str(), whole.prefix.as_ref()), ("palyra", ""));
    assert_eq!((whole.region.as_str(), whole.endpoint), ("us-east-1", None));
    assert_eq!(bucket("s3://palyra/", ""), bucket("s3://palyra", ""));
    let part = bucket("s3://my.palyra-1/a/b_c.d/", "");
    assert_eq!((part.name.as_str(), part.prefix.as_ref()), ("my.palyra-1", "a/b_c.d"));
    for wrong in ["", "ab", "Palyra", "-palyra", "palyra.", "pa..lyra", "key:geheim@palyra"] {
        refused(&format!("s3://{wrong}/x"), "", "the bucket in storage.blobs");
    }
    refused(&format!("s3://{}", "a".repeat(64)), "", "the bucket in storage.blobs");
    for wrong in ["/a", "a//b", "../a", "a/./b", "a b", "a?x=geheim", "a#x", "a%2fb"] {
        refused(&format!("s3://palyra/{wrong}"), "", "the prefix in storage.blobs");
    }
}

#[test]
fn only_this_machine_is_spoken_to_in_the_clear() {
    for (endpoint, url, reach) in [
        ("https://s3.example.org", "https://s3.example.org", Reach::Network),
        ("https://s3.example.org/at/s3/", "https://s3.example.org/at/s3", Reach::Network),
        ("https://localhost:9000", "https://localhost:9000", Reach::Loopback),
        ("http://localhost:9000", "http://localhost:9000", Reach::PlainLoopback),
        ("http://127.0.0.1:9000/", "http://127.0.0.1:9000", Reach::PlainLoopback),
        ("http://127.9.9.9", "http://127.9.9.9", Reach::PlainLoopback),
        ("http://[::1]:9000", "http://[::1]:9000", Reach::PlainLoopback),
    ] {
        let found = bucket("s3://palyra", endpoint).endpoint;
        assert_eq!(found, Some(Endpoint { url: url.into(), reach }), "{endpoint}");
    }
    for away in [
        "http://minio:9000",
        "http://192.168.0.2:9000",
        "http://0.0.0.0:9000",
        "http://[::]:9000",
        "http://localhost.example.org",
        "http://127.0.0.1.example.org",
    ] {
        refused("s3://palyra", away, "in the clear");
    }
}

#[test]
fn an_endpoint_is_a_plain_address_and_only_for_s3() {
    for wrong in ["minio", "//minio", "https://", "geheim"] {
        refused("s3://palyra", wrong, "storage.blobs_endpoint is an address");
    }
    for wrong in ["ftp://minio", "minio:9000", "s3://minio"] {
        refused("s3://palyra", wrong, "https://… or http://…");
    }
    refused("s3://palyra", "https://anna:geheim@minio", "AWS_ACCESS_KEY_ID");
    refused("s3://palyra", "http://127.0.0.1@minio:9000", "AWS_ACCESS_KEY_ID");
    refused("s3://palyra", "https://minio/?key=geheim", "no query");
    refused("s3://palyra", "https://minio/#geheim", "no fragment");
    refused("", "https://minio", "only for storage.blobs");
    refused("/srv/blobs", "https://minio", "only for storage.blobs");
}

#[test]
fn a_region_is_a_name() {
    let with = |region: &str| StorageConfig {
        blobs: "s3://palyra".into(),
        blobs_region: region.into(),
        ..StorageConfig::default()
    };
    for right in ["us-east-1", "auto", "garage"] {
        assert!(with(right).check().is_ok(), "{right}");
    }
    for wrong in ["", "US", "eu west", "eu/../x", "eu.example.org"] {
        let told = with(wrong).check().unwrap_err().to_string();
        assert!(told.contains("storage.blobs_region"), "{wrong}: {told}");
    }
}
