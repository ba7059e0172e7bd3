//! The API reference: what the description says of each operation stands in both its forms.

use serde_json::Value;

use crate::openapi_contract::contract::document as description;
use crate::site::{document, variants};

/// One of the two forms.
struct Form {
    text: String,
    /// The text as [`words`] has it.
    words: String,
    is_html: bool,
}

/// The text with one blank between two words.
fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Whether `text`, which is Markdown, is in `told`, as [`words`] has it; only what has no marks can be compared.
fn is_told(told: &str, text: &str) -> bool {
    let is_plain = !text.contains(['`', '[', '*', '<', '&', '"', '\'', '|']);
    !is_plain || told.contains(&words(text))
}

impl Form {
    fn html(page: &str) -> Self {
        let (_, text) = page.split_once("<div class=\"reference\">").unwrap();
        Self::of(text.replace("&#x2f;", "/"), true)
    }

    fn markdown(page: &str) -> Self {
        let (_, text) = page.split_once("\nGenerated from ").unwrap();
        Self::of(text.to_owned(), false)
    }

    fn of(text: String, is_html: bool) -> Self {
        Self {
            words: words(&text),
            text,
            is_html,
        }
    }

    /// What stands from `begin` up to the next of `ends`.
    fn section(&self, begin: &str, ends: &[&str]) -> &str {
        let section = self.text.split_once(begin);
        let (_, section) = section.unwrap_or_else(|| panic!("{begin} is missing"));
        let end = ends.iter().filter_map(|end| section.find(end)).min();
        &section[..end.unwrap_or(section.len())]
    }

    fn operation(&self, id: &str, endpoint: (&str, &str)) -> &str {
        let (method, path) = endpoint;
        if self.is_html {
            let ends = ["id=\"operation/", "<h2 "];
            let section = self.section(&format!("id=\"operation/{id}\""), &ends);
            let endpoint = format!("<b>{method}</b> <code>{path}</code>");
            assert!(section.contains(&endpoint), "{endpoint}");
            section
        } else {
            self.section(&format!("\n`{method} {path}`\n"), &["\n## ", "\n### "])
        }
    }

    /// The operation that this one is the same as, as method and path.
    fn same_as<'a>(&self, section: &'a str) -> Option<(&'a str, &'a str)> {
        let (_, twin) = section.split_once("Same request and responses as ")?;
        let twin = if self.is_html {
            twin.split_once('>')?.1.split('<').next()?
        } else {
            twin.trim_start_matches('`').split('`').next()?
        };
        twin.split_once(' ')
    }

    /// What every operation of a tag takes.
    fn of_tag(&self, tag: &str) -> &str {
        if self.is_html {
            let ends = ["id=\"operation/", "<h2 "];
            self.section(&format!("<h2 id=\"tag/{tag}\">"), &ends)
        } else {
            let title = tag[..1].to_uppercase() + &tag[1..];
            self.section(&format!("\n## {title}\n"), &["\n## ", "\n### "])
        }
    }

    fn schema(&self, name: &str) -> &str {
        if self.is_html {
            self.section(&format!("<h2 id=\"schema/{name}\">"), &["<h2 "])
        } else {
            self.section(&format!("\n## Errors: `{name}`\n"), &["\n## "])
        }
    }

    fn member(&self, name: &str) -> String {
        match self.is_html {
            true => format!("<dt><code>{name}</code> <span>"),
            false => format!("| `{name}` | "),
        }
    }

    fn code(&self, name: &str) -> String {
        match self.is_html {
            true => format!("<code>{name}</code>"),
            false => format!("`{name}`"),
        }
    }

    fn problem_code(&self, name: &str) -> String {
        match self.is_html {
            true => format!("<a href=\"/problems/{name}\">{name}</a>"),
            false => format!("`{name}`"),
        }
    }
}

/// The description, and what is found in it.
struct Source {
    root: Value,
}

impl Source {
    fn resolve<'a>(&'a self, value: &'a Value) -> &'a Value {
        match value["$ref"].as_str() {
            Some(target) => self.resolve(self.root.pointer(&target[1..]).unwrap()),
            None => value,
        }
    }

    fn entries<'a>(&'a self, value: &'a Value) -> impl Iterator<Item = (&'a str, &'a Value)> {
        let object = value.as_object().into_iter().flatten();
        object.map(|(name, value)| (name.as_str(), self.resolve(value)))
    }

    fn items<'a>(&'a self, value: &'a Value) -> impl Iterator<Item = &'a Value> {
        let list = value.as_array().into_iter().flatten();
        list.map(|item| self.resolve(item))
    }

    /// The properties of `schema` with their ways, to the last of them.
    fn properties(&self, schema: &Value, way: &str, found: &mut Vec<(String, Value)>) {
        let schema = self.resolve(schema);
        for several in ["allOf", "oneOf", "anyOf"] {
            for part in self.items(&schema[several]) {
                self.properties(part, way, found);
            }
        }
        let dot = if way.is_empty() { "" } else { "." };
        for (name, property) in self.entries(&schema["properties"]) {
            let name = format!("{way}{dot}{name}");
            self.properties(property, &name, found);
            found.push((name, property.clone()));
        }
        if schema["items"].is_object() {
            self.properties(&schema["items"], &format!("{way}[]"), found);
        }
        if schema["additionalProperties"].is_object() {
            let name = format!("{way}{dot}*");
            self.properties(&schema["additionalProperties"], &name, found);
        }
    }

    /// Fails unless `section` tells of every property of `schema` and what is said of it.
    fn check_schema(&self, form: &Form, section: &str, schema: &Value, of: &str) -> usize {
        let mut properties = Vec::new();
        self.properties(schema, "", &mut properties);
        let told = words(section);
        let text = &self.resolve(schema)["description"];
        let text = text.as_str().unwrap_or_default();
        assert!(is_told(&told, text), "{of}: {text}");
        for (name, property) in &properties {
            assert!(section.contains(&form.member(name)), "{of}: {name}");
            let text = property["description"].as_str().unwrap_or_default();
            assert!(is_told(&told, text), "{of}: {name}: {text}");
        }
        properties.len()
    }

    /// The same for every status, header, media type and schema of `operation`'s answers.
    fn check_responses(&self, form: &Form, section: &str, operation: &Value) -> usize {
        let (mut seen, told) = (0, words(section));
        for (status, response) in self.entries(&operation["responses"]) {
            let of = format!("{} {status}", operation["operationId"]);
            assert!(section.contains(status), "{of}");
            let text = response["description"].as_str().unwrap();
            assert!(is_told(&told, text), "{of}: {text}");
            for (name, header) in self.entries(&response["headers"]) {
                assert!(section.contains(&form.code(name)), "{of}: {name}");
                // What it means stands in one place for all.
                assert!(form.text.contains(&form.member(name)), "{of}: {name}");
                let text = header["description"].as_str().unwrap();
                assert!(is_told(&form.words, text), "{name}: {text}");
                seen += 1;
            }
            let contents = [&response["content"], &response["x-content"]];
            for (media_type, body) in contents.into_iter().flat_map(|one| self.entries(one)) {
                let of = format!("{of} {media_type}");
                assert!(section.contains(&form.code(media_type)), "{of}");
                let schema = &body["schema"];
                let name = schema["$ref"]
                    .as_str()
                    .and_then(|path| path.rsplit('/').next());
                let is_error = status.starts_with(['4', '5']);
                let place = match name {
                    Some(name) if is_error => {
                        assert!(section.contains(name), "{of}: {name}");
                        form.schema(name)
                    }
                    _ => section,
                };
                seen += self.check_schema(form, place, schema, &of);
                if !is_error {
                    let examples = self.entries(&body["examples"]).count();
                    let shown = section.matches(if form.is_html { "<pre>" } else { "\n```\n" });
                    assert!(shown.count() >= examples, "{of}");
                }
            }
        }
        seen
    }

    /// Fails unless `section` names each problem code of `operation`.
    fn check_codes(&self, form: &Form, section: &str, operation: &Value) {
        let codes: Vec<_> = self.items(&operation["x-problem-codes"]).collect();
        // Next to nothing can go wrong with a probe.
        let of = &operation["operationId"];
        let least = if of == "getLiveness" { 2 } else { 5 };
        assert!(codes.len() >= least, "{codes:?}");
        for code in codes {
            let code = form.problem_code(code.as_str().unwrap());
            assert!(section.contains(&code), "{of}: {code}");
        }
    }

    /// The same for what `operation` takes; `of_tag` is said of all operations with its tag.
    fn check_request(
        &self,
        form: &Form,
        section: &str,
        of_tag: &str,
        item: &Value,
        operation: &Value,
    ) {
        let of = &operation["operationId"];
        let parameters = self.items(&item["parameters"]);
        for parameter in parameters.chain(self.items(&operation["parameters"])) {
            let member = form.member(parameter["name"].as_str().unwrap());
            let is_named = section.contains(&member) || of_tag.contains(&member);
            assert!(is_named, "{of}: {member}");
        }
        let body = self.resolve(&operation["requestBody"]);
        let text = body["description"].as_str().unwrap_or_default();
        assert!(is_told(&words(section), text), "{of}: {text}");
        for (media_type, body) in self.entries(&body["content"]) {
            let is_named = section.contains(&form.code(media_type));
            assert!(is_named, "{of}: {media_type}");
            self.check_schema(form, section, &body["schema"], &of.to_string());
            let examples = self.entries(&body["examples"]).count();
            assert!(section.matches("curl ").count() >= examples, "{of}");
        }
    }
}

#[test]
fn the_reference_tells_all_that_the_description_says_in_both_forms() {
    for facts in variants() {
        let source = Source {
            root: description(&facts),
        };
        let forms = [
            Form::html(&document(&facts, "/docs/reference")),
            Form::markdown(&document(&facts, "/docs/reference.md")),
        ];
        for form in &forms {
            // A value that may be of several types is said to be.
            let error = form.schema("McpError");
            let member = format!("{}string or integer (int64)", form.member("id"));
            assert!(error.contains(&member), "{error}");
            let (mut operations_seen, mut members_seen) = (0, 0);
            for (path, item) in source.entries(&source.root["paths"]) {
                for (method, operation) in source.entries(item) {
                    let Some(id) = operation["operationId"].as_str() else {
                        continue;
                    };
                    let method = method.to_uppercase();
                    let section = form.operation(id, (&method, path));
                    let text = operation["description"].as_str().unwrap();
                    assert!(is_told(&words(section), text), "{id}: {text}");
                    operations_seen += 1;
                    let of_tag = form.of_tag(operation["tags"][0].as_str().unwrap());
                    let section = match form.same_as(section) {
                        None => section,
                        Some((method, path)) => {
                            let twin = &source.root["paths"][path][method.to_lowercase()];
                            form.operation(twin["operationId"].as_str().unwrap(), (method, path))
                        }
                    };
                    source.check_request(form, section, of_tag, item, operation);
                    members_seen += source.check_responses(form, section, operation);
                    source.check_codes(form, section, operation);
                }
            }
            assert!(operations_seen > 30, "{operations_seen}");
            assert!(members_seen > 800, "{members_seen}");
        }
    }
}
