//! A blob store to test on, and hands to reach behind it.

use std::path::{Path, PathBuf};

use palyra_storage::StorageConfig;
use palyra_storage::blob::{BlobStore, S3Credentials};
use palyra_testkit::s3::S3Server;

use crate::world::World;

/// Neither may ever be seen in a message.
pub(crate) const SECRET: &str = "geheimer-schluessel";
pub(crate) const TOKEN: &str = "geheime-marke";

pub(crate) struct Shelf {
    pub(crate) world: World,
    pub(crate) store: BlobStore,
    pub(crate) s3: Option<S3Server>,
}

impl Shelf {
    pub(crate) fn in_folder(world: World) -> Self {
        let store = open(&world, &StorageConfig::default(), S3Server::KEY_ID);
        Self { world, store, s3: None }
    }

    /// In a part of a bucket.
    pub(crate) fn on_s3(world: World) -> Self {
        let server = S3Server::start().unwrap();
        let store = open(&world, &on(&server), S3Server::KEY_ID);
        Self { world, store, s3: Some(server) }
    }

    pub(crate) fn s3(&mut self) -> &mut S3Server {
        self.s3.as_mut().unwrap()
    }

    /// The same place with another key.
    pub(crate) fn as_key(&self, key_id: &'static str) -> BlobStore {
        open(&self.world, &on(self.s3.as_ref().unwrap()), key_id)
    }

    /// The names of all objects.
    pub(crate) fn objects(&self) -> Vec<String> {
        match &self.s3 {
            Some(server) => server.keys(),
            None => files(&self.folder()),
        }
    }

    /// Overwrites an object behind the store's back.
    pub(crate) fn write(&self, name: &str, content: &[u8]) {
        match &self.s3 {
            Some(server) => server.put(name, content),
            None => std::fs::write(self.folder().join(name), content).unwrap(),
        }
    }

    /// Removes an object behind the store's back.
    pub(crate) fn remove(&self, name: &str) {
        match &self.s3 {
            Some(server) => server.remove(name),
            None => std::fs::remove_file(self.folder().join(name)).unwrap(),
        }
    }

    fn folder(&self) -> PathBuf {
        self.world.folder.path().join("blobs")
    }
}

fn on(server: &S3Server) -> StorageConfig {
    StorageConfig {
        blobs: format!("s3://{}/some/part", S3Server::BUCKET),
        blobs_endpoint: server.endpoint(),
        ..StorageConfig::default()
    }
}

fn open(world: &World, config: &StorageConfig, key_id: &'static str) -> BlobStore {
    let credentials = || {
        S3Credentials::from_variables(|name| {
            Some(match name {
                "AWS_ACCESS_KEY_ID" => key_id.into(),
                "AWS_SECRET_ACCESS_KEY" => SECRET.into(),
                "AWS_SESSION_TOKEN" => TOKEN.into(),
                other => panic!("{other} is asked for"),
            })
        })
    };
    let (db, data_dir) = (world.db.clone(), world.folder.path());
    BlobStore::open_as(db, world.clock(), config, data_dir, credentials).unwrap()
}

fn files(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(inner) = folders.pop() {
        for item in std::fs::read_dir(inner).unwrap() {
            let path = item.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                found.push(path.strip_prefix(folder).unwrap().to_str().unwrap().to_owned());
            }
        }
    }
    found
}
