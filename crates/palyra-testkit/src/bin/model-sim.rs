//! The model simulator by hand: a provider without a model, to try Palyra against.

use std::io::Write;

use anyhow::Context;
use clap::Parser;
use palyra_testkit::model_sim::{Fault, MODEL, ModelSim, echo};

/// A provider of models that has none: it says what was said to it, and calls a tool when a line of
/// the message is `use TOOL {json}`. It speaks the dialects of OpenAI and of Anthropic.
#[derive(Debug, Parser)]
#[command(name = "model-sim", verbatim_doc_comment)]
struct Arguments {
    /// The port of loopback to listen on; 0 picks a free one
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// The key that it wants; without it any key will do
    #[arg(long)]
    api_key: Option<String>,
    /// What goes wrong with every answer, such as slow, cut, 429 or endless
    #[arg(long)]
    fault: Vec<Fault>,
}

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let sim = ModelSim::start_on(arguments.port)?;
    if let Some(key) = &arguments.api_key {
        sim.require_key(key);
    }
    let faults = arguments.fault;
    sim.rule(move |asked| {
        faults.iter().cloned().fold(echo(asked), |reply, fault| reply.with(fault))
    });
    let mut out = std::io::stdout();
    let (openai, anthropic) = (sim.openai_url(), sim.url());
    writeln!(out, "openai {openai}\nanthropic {anthropic}\nmodel {MODEL}")
        .context("tell where it is")?;
    out.flush().context("tell where it is")?;
    loop {
        std::thread::park();
    }
}
