//! The flags of the model.

use std::path::PathBuf;
use std::time::Duration;

use clap::ArgAction;
use clap::builder::{BoolishValueParser, PossibleValuesParser, TypedValueParser as _};
use serde_json::Value;

use super::values;
use crate::domain::macros::hidden;

/// The model's flags. Without `--model-url`, giving any of the others is an error.
#[derive(Clone, Debug, PartialEq, clap::Args)]
#[group(requires_all = ["url", "name"])]
pub struct ModelArgs {
    /// Base URL of an OpenAI-compatible API
    ///
    /// Such as http://127.0.0.1:11434/v1. By default, the assistant searches the pages
    #[arg(
        long = "model-url",
        hide_env_values = true,
        value_name = "URL",
        required = false,
        value_parser = values::model_url
    )]
    pub url: String,

    /// Model name
    #[arg(long = "model", value_name = "NAME", required = false, value_parser = values::name)]
    pub name: String,

    /// File with the API key
    #[arg(long = "model-key-file", value_name = "FILE")]
    pub key_file: Option<PathBuf>,

    /// Time limit for one answer of the model, from 1s to 5m
    #[arg(
        long = "model-timeout",
        value_name = "TIME",
        default_value = "30s",
        value_parser = values::model_timeout
    )]
    pub timeout: Duration,

    /// Maximum number of answers generated at once
    #[arg(
        long = "model-concurrency",
        value_name = "COUNT",
        default_value_t = 64,
        value_parser = clap::value_parser!(u16).range(1..=4096)
    )]
    pub concurrency: u16,

    /// Extra field of each request, such as max_tokens=400; repeatable
    #[arg(
        long = "model-param",
        hide_env_values = true,
        value_name = "KEY=JSON",
        value_delimiter = '\n',
        value_parser = param
    )]
    pub params: Vec<ModelParam>,

    /// Drop everything in an answer up to </think>
    #[arg(long = "model-thinks-first", value_parser = BoolishValueParser::new())]
    pub thinks_first: bool,

    /// While the model is unavailable: a 503, or a search of the pages, free of charge
    #[arg(
        long = "model-fallback",
        value_name = "none|guide",
        default_value = "none",
        action = ArgAction::Set,
        value_parser = PossibleValuesParser::new(["none", "guide"]).map(|word| word == "guide")
    )]
    pub falls_back: bool,

    /// File with the model's system prompt [default: made from the pages]
    #[arg(long = "assistant-prompt-file", value_name = "FILE")]
    pub prompt_file: Option<PathBuf>,
}

/// A field of each request, and its value. It may hold a secret, so `Debug` hides it.
#[derive(Clone, PartialEq)]
pub struct ModelParam(pub String, pub Value);

hidden!(ModelParam);

fn param(text: &str) -> Result<ModelParam, String> {
    let (key, json) = text.split_once('=').ok_or("must be KEY=JSON")?;
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if key.is_empty() || !key.chars().all(is_part) {
        return Err("the key must be letters, digits and underscores".to_owned());
    }
    if matches!(key, "messages" | "stream" | "model" | "n") {
        return Err(format!("{key} is set by the service"));
    }
    let value = serde_json::from_str(json).map_err(|error| {
        format!("the value of {key} is not JSON on one line: {error}; strings need quotes")
    })?;
    Ok(ModelParam(key.to_owned(), value))
}
