//! `schemas/json/runtime-contracts.json` from the runtime vocabulary.

use anyhow::Result;
use palyra_common::runtime_contracts::{ContractDescriptor, ContractValue, registry};
use serde::Serialize;
use serde_json::Value;

#[derive(Serialize)]
struct File {
    contracts: Vec<Contract>,
}

#[derive(Serialize)]
struct Contract {
    name: &'static str,
    doc: &'static str,
    values: Vec<ContractRow>,
    schema: Value,
}

#[derive(Serialize)]
struct ContractRow {
    value: &'static str,
    doc: &'static str,
    aliases: &'static [&'static str],
}

pub(super) fn render() -> Result<String> {
    let file = File { contracts: registry().map(contract).collect() };
    Ok(serde_json::to_string_pretty(&file)? + "\n")
}

fn contract(contract: &ContractDescriptor) -> Contract {
    Contract {
        name: contract.name,
        doc: contract.doc,
        values: contract.values.iter().map(row).collect(),
        schema: contract.json_schema(),
    }
}

fn row(value: &ContractValue) -> ContractRow {
    ContractRow { value: value.wire, doc: value.doc, aliases: value.aliases }
}
