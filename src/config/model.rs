//! The flags of a model of the operator's own.

use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;
use url::Url;

use crate::domain::policy::parse_duration_ms;

/// The flags as typed. All of them may be absent, so that those given without `--model-url` show.
#[derive(Clone, Debug, clap::Args)]
#[allow(
    clippy::doc_markdown,
    reason = "what stands here is help, not Markdown"
)]
pub(super) struct ModelArgs {
    /// Base of an OpenAI-compatible API whose model answers visitors, such as
    /// http://127.0.0.1:11434/v1 [default: none, answers come from the guide]
    #[arg(long, env = "LANDING_MODEL_URL", hide_env_values = true, value_name = "URL", value_parser = parse_base)]
    model_url: Option<String>,

    /// Name of the model
    #[arg(long, env = "LANDING_MODEL", value_name = "NAME", value_parser = super::parse_name)]
    model: Option<String>,

    /// File with the key to the API, readable by its owner alone
    #[arg(long, env = "LANDING_MODEL_KEY_FILE", value_name = "FILE")]
    model_key_file: Option<PathBuf>,

    /// How long an answer of the model may take, from 1s to 5m [default: 30s]
    #[arg(long, env = "LANDING_MODEL_TIMEOUT", value_name = "TIME", value_parser = parse_timeout)]
    model_timeout: Option<Duration>,

    /// Most answers the model makes at once; further ones are refused without a charge
    /// [default: 64]
    #[arg(
        long,
        env = "LANDING_MODEL_CONCURRENCY",
        value_name = "COUNT",
        value_parser = clap::value_parser!(u16).range(1..=4096)
    )]
    model_concurrency: Option<u16>,

    /// Further member of each request to the model, such as max_tokens=400; may be repeated, in the
    /// environment each on a line of its own. The JSON may go over several lines
    #[arg(
        long,
        env = "LANDING_MODEL_PARAM",
        hide_env_values = true,
        value_name = "KEY=JSON",
        value_parser = parse_params
    )]
    model_param: Vec<Params>,

    /// File with the system prompt of the model [default: made from the guide]
    #[arg(long, env = "LANDING_ASSISTANT_PROMPT_FILE", value_name = "FILE")]
    assistant_prompt_file: Option<PathBuf>,
}

/// The members that one value of `--model-param` names.
#[derive(Clone, Debug)]
struct Params(Vec<(String, Value)>);

/// A model of the operator's own, as meant.
#[derive(Clone, PartialEq)]
pub struct ModelConfig {
    /// The base of the API, without a slash at its end.
    pub url: String,
    /// The model's name.
    pub name: String,
    /// Holds the key to the API.
    pub key_file: Option<PathBuf>,
    /// How long an answer may take.
    pub timeout: Duration,
    /// Answers made at once.
    pub concurrency: usize,
    /// Further members of each request.
    pub params: Vec<(String, Value)>,
    /// Holds the system prompt.
    pub prompt_file: Option<PathBuf>,
}

/// Parameters may hold what is nobody's business.
impl fmt::Debug for ModelConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ModelConfig")
            .field("url", &self.url)
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl ModelArgs {
    /// The model that is meant, if one is.
    ///
    /// # Errors
    /// One line that names the flag that is missing or has no use.
    pub(super) fn checked(self) -> Result<Option<ModelConfig>, String> {
        let Some(url) = self.model_url else {
            let useless = [
                ("--model", self.model.is_some()),
                ("--model-key-file", self.model_key_file.is_some()),
                ("--model-timeout", self.model_timeout.is_some()),
                ("--model-concurrency", self.model_concurrency.is_some()),
                ("--model-param", !self.model_param.is_empty()),
                (
                    "--assistant-prompt-file",
                    self.assistant_prompt_file.is_some(),
                ),
            ];
            return match useless.into_iter().find(|(_, is_given)| *is_given) {
                Some((flag, _)) => Err(format!("error: {flag} has no use without --model-url")),
                None => Ok(None),
            };
        };
        let name = self
            .model
            .ok_or("error: --model is missing: --model-url needs the name of a model")?;
        let params: Vec<_> = self
            .model_param
            .into_iter()
            .flat_map(|params| params.0)
            .collect();
        let mut names = BTreeSet::new();
        if let Some((name, _)) = params.iter().find(|(name, _)| !names.insert(name)) {
            return Err(format!("error: --model-param names {name} twice"));
        }
        Ok(Some(ModelConfig {
            url,
            name,
            key_file: self.model_key_file,
            timeout: self.model_timeout.unwrap_or(Duration::from_secs(30)),
            concurrency: usize::from(self.model_concurrency.unwrap_or(64)),
            params,
            prompt_file: self.assistant_prompt_file,
        }))
    }
}

fn parse_base(text: &str) -> Result<String, String> {
    let base = super::parse_url(text)?;
    let url = Url::parse(text).map_err(|error| error.to_string())?;
    if url.query().is_some() || url.fragment().is_some() {
        return Err("must not hold a query or a fragment".to_owned());
    }
    if base.ends_with("/chat/completions") {
        return Err("must be the base of the API, without /chat/completions".to_owned());
    }
    Ok(base)
}

fn parse_timeout(text: &str) -> Result<Duration, String> {
    const RANGE_MS: std::ops::RangeInclusive<u64> = 1_000..=300_000;
    parse_duration_ms(text)
        .filter(|timeout_ms| RANGE_MS.contains(timeout_ms))
        .map(Duration::from_millis)
        .ok_or_else(|| "must be a number with s or m, from 1s to 5m".to_owned())
}

/// Reads `KEY=JSON`, once or more. The next one begins on the line after the JSON's end, which may
/// be some lines below its beginning.
fn parse_params(text: &str) -> Result<Params, String> {
    let mut params = Vec::new();
    let mut rest = text.trim();
    loop {
        let (name, json) = rest.split_once('=').ok_or("must be KEY=JSON")?;
        check_param_name(name)?;
        let mut values = serde_json::Deserializer::from_str(json).into_iter::<Value>();
        let value = match values.next() {
            Some(Ok(value)) => value,
            Some(Err(error)) => {
                return Err(format!(
                    "the value of {name} is not JSON: {error}; texts need quotes"
                ));
            }
            None => return Err(format!("{name} has no value")),
        };
        params.push((name.to_owned(), value));
        let after = json.get(values.byte_offset()..).unwrap_or_default();
        let (same_line, others) = after.split_once('\n').unwrap_or((after, ""));
        if !same_line.trim().is_empty() {
            return Err(format!("after the value of {name} a line must end"));
        }
        rest = others.trim_start();
        if rest.is_empty() {
            return Ok(Params(params));
        }
    }
}

fn check_param_name(name: &str) -> Result<(), String> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if name.is_empty() || !name.chars().all(is_part) {
        return Err("the key must be letters, digits and underscores".to_owned());
    }
    if matches!(name, "messages" | "stream" | "model" | "n") {
        return Err(format!("{name} is set by the service"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::config::{Config, ConfigError};

    fn parse(flags: &[&str]) -> Result<Option<ModelConfig>, String> {
        let words = ["landing-api", "--data-dir", "var"];
        match Config::parse(words.iter().chain(flags)) {
            Ok(config) => Ok(config.model),
            Err(ConfigError::Wrong(line)) => Err(line),
            Err(ConfigError::Shown(text)) => panic!("{text}"),
        }
    }

    const URL: &str = "--model-url=http://127.0.0.1:11434/v1/";

    #[test]
    fn two_flags_make_a_model() {
        assert_eq!(parse(&[]), Ok(None));
        let model = parse(&[URL, "--model=small"]).unwrap().unwrap();
        assert_eq!(model.url, "http://127.0.0.1:11434/v1");
        assert_eq!(model.name, "small");
        assert_eq!(model.timeout, Duration::from_secs(30));
        assert_eq!(model.concurrency, 64);
        assert_eq!((model.key_file, model.prompt_file), (None, None));
    }

    #[test]
    fn parameters_are_json_and_may_be_repeated() {
        let flags = [
            URL,
            "--model=small",
            "--model-param=max_tokens=400",
            "--model-param",
            r#"options={"a":[1,2]}"#,
        ];
        let params = parse(&flags).unwrap().unwrap().params;
        let expected = [
            ("max_tokens".to_owned(), json!(400)),
            ("options".to_owned(), json!({"a": [1, 2]})),
        ];
        assert_eq!(params, expected);
    }

    #[test]
    fn a_parameter_may_go_over_several_lines_and_the_next_begins_on_its_own() {
        let options = json!({"a": "b\nc", "d": [1, 2]});
        let many = "{\n  \"a\": \"b\\nc\",\n\n  \"d\": [\n1,\n2\n]\n}";
        for (value, expected) in [
            (format!("o={many}"), vec![("o", options.clone())]),
            (format!("o=\n{many}\n"), vec![("o", options.clone())]),
            (
                format!("m=400\no={many}\r\n\n  t=\"x\"\n"),
                vec![("m", json!(400)), ("o", options), ("t", json!("x"))],
            ),
            (
                "a=1\nb={}\nc=null".to_owned(),
                vec![("a", json!(1)), ("b", json!({})), ("c", json!(null))],
            ),
        ] {
            let flag = format!("--model-param={value}");
            let params = parse(&[URL, "--model=m", &flag]).unwrap().unwrap().params;
            let expected: Vec<_> = expected
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value))
                .collect();
            assert_eq!(params, expected, "{value}");
        }
        for bad in [
            "",
            "\n",
            "a=",
            "a=\n",
            "a=1 b=2",
            "a={} b=2",
            "a={}b=2",
            "a=1,b=2",
            "a=1\nb",
            "a=1\nb=",
            "a=1\nmodel=\"x\"",
            "n=2",
            "a=1\na=2",
            "a=1\nb=2\na=1",
            "a=1\n=2",
            "a={\n\"x\": 1\nb=2",
        ] {
            let flag = format!("--model-param={bad}");
            let line = parse(&[URL, "--model=m", &flag]).unwrap_err();
            assert!(line.contains("--model-param"), "{bad:?}: {line}");
            assert!(!line.contains('\n'), "{line}");
        }
    }

    #[test]
    fn what_is_wrong_is_one_line_that_names_the_flag() {
        for (flags, named) in [
            (vec!["--model-url=ftp://x", "--model=m"], "--model-url"),
            (vec!["--model-url=nonsense", "--model=m"], "--model-url"),
            (vec!["--model-url=http://u:p@x", "--model=m"], "--model-url"),
            (
                vec!["--model-url=http://x/v1?k=1", "--model=m"],
                "--model-url",
            ),
            (
                vec!["--model-url=http://x/v1/chat/completions", "--model=m"],
                "--model-url",
            ),
            (vec![URL], "--model "),
            (vec![URL, "--model="], "--model"),
            (
                vec![URL, "--model=m", "--model-timeout=0s"],
                "--model-timeout",
            ),
            (
                vec![URL, "--model=m", "--model-timeout=6m"],
                "--model-timeout",
            ),
            (
                vec![URL, "--model=m", "--model-timeout=30"],
                "--model-timeout",
            ),
            (
                vec![URL, "--model=m", "--model-concurrency=0"],
                "--model-concurrency",
            ),
            (vec![URL, "--model=m", "--model-param=x"], "--model-param"),
            (vec![URL, "--model=m", "--model-param=x=y"], "--model-param"),
            (vec![URL, "--model=m", "--model-param==1"], "--model-param"),
            (
                vec![URL, "--model=m", "--model-param=stream=true"],
                "--model-param",
            ),
            (
                vec![URL, "--model=m", "--model-param=messages=[]"],
                "--model-param",
            ),
            (
                vec![URL, "--model=m", "--model-param=a=1", "--model-param=a=2"],
                "--model-param",
            ),
            (vec!["--model=m"], "--model "),
            (vec!["--model-key-file=k"], "--model-key-file"),
            (vec!["--model-timeout=30s"], "--model-timeout"),
            (vec!["--model-concurrency=1"], "--model-concurrency"),
            (vec!["--model-param=a=1"], "--model-param"),
            (vec!["--assistant-prompt-file=p"], "--assistant-prompt-file"),
        ] {
            let line = parse(&flags).unwrap_err();
            assert!(line.contains(named), "{flags:?}: {line}");
            assert!(
                line.starts_with("error: ") && !line.contains('\n'),
                "{line}"
            );
        }
    }
}
