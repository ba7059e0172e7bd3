//! The operator's images.

use super::{CRANE, ICON, app, body, get};
use crate::harness::Call;

#[tokio::test]
async fn images_of_the_folder_are_shown() {
    let text = "# T\n\n![Our *big* \"crane\"](crane.jpg \"A crane.jpg\") ![](logo.svg)\n\n\
        <!-- a -->\n\n[![Icon](icon.PNG) us](/docs) ![c][c] ![d](/images/crane.jpg)\n\n\
        ![e ![f](logo.svg)](crane.jpg)\n\n`![g](crane.jpg)` [h](crane.jpg) [i ![j](logo.svg)](javascript:a)\n\n## S\n\n![l](crane.jpg)\n\n\
        [c]: crane.jpg\n";
    let app = app(&[("yard.md", text), ("index.md", "# H\n\n![m](crane.jpg)\n")]);
    let html = body(&app, "/yard").await;
    let crane = "<img src=\"/images/crane.jpg\" loading=\"lazy\" width=\"32\" height=\"16\" alt=";
    for part in [
        format!("<p>{crane}\"Our big &quot;crane&quot;\" title=\"A crane.jpg\" /> <img src="),
        "<img src=\"/images/logo.svg\" loading=\"lazy\" alt=\"\" /></p>".to_owned(),
        "<a href=\"/docs\"><img src=\"/images/icon.PNG\" loading=\"lazy\" width=\"180\" \
         height=\"180\" alt=\"Icon\" /> us</a>"
            .to_owned(),
        format!("{crane}\"c\" /> {crane}\"d\" />"),
        format!("<p>{crane}\"e f\" /></p>"),
        "<a href=\"crane.jpg\">h</a> i <img src=\"/images/logo.svg\" loading=\"lazy\" alt=\"j\" /></p>".to_owned(),
        format!("<p>{crane}\"l\" /></p>"),
    ] {
        assert!(html.contains(&part), "{part}: {html}");
    }
    assert!(body(&app, "/").await.contains(&format!("{crane}\"m\" />")));
    // The Markdown has the addresses, but those of references.
    let twin = body(&app, "/yard.md").await;
    let expected = text
        .replace("<!-- a -->\n\n", "")
        .replace("(crane.jpg \"", "(/images/crane.jpg \"")
        .replace("(logo.svg)", "(/images/logo.svg)")
        .replace("(icon.PNG)", "(/images/icon.PNG)")
        .replace("](crane.jpg)\n", "](/images/crane.jpg)\n");
    assert_eq!(twin, expected);
}

#[tokio::test]
async fn images_are_served_as_they_are_and_an_svg_runs_no_script() {
    let app = app(&[]);
    for (path, media_type, bytes) in [
        ("/images/crane.jpg", "image/jpeg", Some(CRANE)),
        ("/images/icon.PNG", "image/png", Some(ICON)),
        ("/images/logo.svg", "image/svg+xml", None),
    ] {
        let reply = get(&app, path).await;
        assert_eq!(reply.header("content-type"), Some(media_type));
        assert_eq!(reply.header("cache-control"), Some("public, max-age=300"));
        assert_eq!(reply.header("x-content-type-options"), Some("nosniff"));
        assert!(bytes.is_none_or(|bytes| reply.body == bytes), "{path}");
        let policy = reply.header("content-security-policy");
        let is_sandboxed = policy.is_some_and(|it| it.ends_with("; sandbox"));
        assert_eq!(is_sandboxed, bytes.is_none(), "{path}");
        assert_eq!(reply.header("vary").is_some(), bytes.is_none(), "{path}");
        let known = Call::get(path).header("if-none-match", reply.header("etag").unwrap());
        app.expect("304", known).await;
    }
    for path in "/images /images/ /images/Crane.jpg /images/a.jpg /crane.jpg".split(' ') {
        app.expect("404", Call::get(path)).await;
    }
}
