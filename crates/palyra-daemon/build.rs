//! Makes Rust of the gRPC descriptions in `schemas/proto`.

use std::error::Error;
use std::path::PathBuf;

const FILES: [&str; 1] = ["palyra/gateway/v1/gateway.proto"];

fn main() -> Result<(), Box<dyn Error>> {
    let root = PathBuf::from(std::env::var("CARGO_MANIFEST_DIR")?).join("../../schemas/proto");
    println!("cargo::rerun-if-changed={}", root.display());
    let descriptors = protox::compile(FILES, [&root])?;
    let out = PathBuf::from(std::env::var("OUT_DIR")?);
    tonic_prost_build::configure()
        .build_client(false)
        .file_descriptor_set_path(out.join("palyra.bin"))
        .skip_protoc_run()
        .compile_fds(descriptors.clone())?;
    // What tests and benches ask with, and are asked as. The program has no client of its own.
    let outside = out.join("outside");
    std::fs::create_dir_all(&outside)?;
    tonic_prost_build::configure()
        .out_dir(outside)
        .skip_protoc_run()
        .compile_fds(descriptors.clone())?;
    let encoded = protox::prost::Message::encode_to_vec(&descriptors);
    std::fs::write(out.join("palyra.bin"), encoded)?;
    Ok(())
}
