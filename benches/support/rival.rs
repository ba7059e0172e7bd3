//! The rival: axum with `tower_governor`, one in-memory limit per address.

use std::net::SocketAddr;

use axum::Router;
use axum::http::header::CONTENT_TYPE;
use axum::routing::get;
use axum::serve::ListenerExt as _;
use tokio::net::TcpListener;
use tower_governor::GovernorLayer;
use tower_governor::governor::GovernorConfigBuilder;

/// Answers health checks with `body` and the limit's headers, and never refuses.
pub(crate) async fn serve(body: String) {
    let limit = GovernorConfigBuilder::default()
        .per_nanosecond(1)
        .burst_size(u32::MAX)
        .use_headers()
        .finish()
        .unwrap();
    let health = move || std::future::ready(([(CONTENT_TYPE, "application/json")], body.clone()));
    let router = Router::new()
        .route("/api/v1/health", get(health))
        .layer(GovernorLayer::new(limit));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    println!("listening on http://{}", listener.local_addr().unwrap());
    let listener = listener.tap_io(|stream| stream.set_nodelay(true).unwrap());
    let service = router.into_make_service_with_connect_info::<SocketAddr>();
    axum::serve(listener, service).await.unwrap();
}
