//! stub
use hyper::body::Bytes;
/// doc
#[derive(Debug)]
pub struct Document {
    /// m
    pub media_type: &'static str,
    /// b
    pub body: Bytes,
}
/// site
#[derive(Debug)]
pub struct Site;
impl Site {
    /// d
    #[must_use]
    pub fn document(&self, _path: &str) -> Option<&Document> {
        None
    }
    /// p
    #[must_use]
    pub fn page(&self, title: &str, body: &str) -> String {
        format!("{title}{body}")
    }
}
