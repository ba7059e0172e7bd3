use std::convert::Infallible;
use std::pin::pin;

use futures_util::FutureExt as _;
use tokio::time::advance;

use super::*;
use crate::http::answer::sse;
use crate::http::{Reply, whole};

const REST: Duration = Duration::from_secs(30);
const STALL: Duration = Duration::from_secs(75);
const PAUSE: Duration = Duration::from_secs(7);
const MOMENT: Duration = Duration::from_millis(2);

fn sent(activity: &Activity, count: usize) {
    activity.wrote(&Poll::Ready(Ok::<_, Infallible>(count)));
}

fn blocked(activity: &Activity) {
    activity.wrote(&Poll::<Result<usize, Infallible>>::Pending);
}

/// Fails unless the connection counts as idle after exactly `expected`.
async fn idles_after(activity: &Activity, expected: Duration) {
    let began = Instant::now();
    activity.idle(REST, STALL).await;
    let elapsed = began.elapsed();
    assert!(
        elapsed >= expected && elapsed < expected + MOMENT,
        "{elapsed:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_connection_is_idle_since_its_last_answer_was_sent() {
    let activity = Activity::new(false);
    let mut idle = pin!(activity.idle(REST, STALL));
    let request = activity.begin();
    for _ in 0..10 {
        advance(STALL).await;
        assert!(idle.as_mut().now_or_never().is_none());
    }
    drop(request.sending(whole("whole")));
    advance(PAUSE).await;
    sent(&activity, PROGRESS_BYTES);
    let began = Instant::now();
    idle.await;
    assert!(began.elapsed() >= REST && began.elapsed() < REST + MOMENT);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_does_not_read_has_longer_and_each_write_counts() {
    let activity = Activity::new(false);
    let mut idle = pin!(activity.idle(REST, STALL));
    for _ in 0..3 {
        blocked(&activity);
        advance(STALL - PAUSE).await;
        assert!(idle.as_mut().now_or_never().is_none());
        sent(&activity, PROGRESS_BYTES);
    }
    blocked(&activity);
    // Another request of the same client changes nothing.
    let _request = activity.begin();
    let began = Instant::now();
    idle.await;
    assert!(began.elapsed() >= STALL && began.elapsed() < STALL + MOMENT);
}

#[tokio::test(start_paused = true)]
async fn frames_that_keep_a_connection_alive_and_bytes_of_a_head_are_no_progress() {
    let activity = Activity::new(false);
    let idle = async {
        for _ in 0..2 {
            tokio::time::sleep(REST / 3).await;
            sent(&activity, PROGRESS_BYTES - 1);
            activity.read(1).unwrap();
        }
        std::future::pending::<()>().await;
    };
    tokio::select! {
        () = idle => {}
        () = idles_after(&activity, REST) => {}
    }
}

#[test]
fn a_client_may_send_what_its_requests_need_and_no_more() {
    let activity = Activity::new(false);
    for _ in 0..1000 {
        activity.read(BYTES_PER_REQUEST_MAX).unwrap();
        activity.begin_request(Instant::now(), Version::HTTP_2);
    }
    activity.read(BYTES_PER_REQUEST_MAX).unwrap();
    assert!(!activity.has_flooded());
    assert!(activity.read(1).is_err());
    // A request that is read at the same moment.
    activity.begin_request(Instant::now(), Version::HTTP_2);
    assert!(activity.has_flooded());
    let trusted = Activity::new(true);
    trusted.read(1 << 40).unwrap();
}

#[tokio::test(start_paused = true)]
async fn what_the_service_has_not_made_yet_may_take_any_time() {
    let activity = Activity::new(false);
    let request = activity.begin();
    // A part of the response, then none for long.
    let (sink, stream) = sse::channel();
    sink.send("part", b"1").await.unwrap();
    let mut body = request.sending(Reply::events(stream).response.into_body());
    assert!(body.frame().await.is_some());
    assert!(!activity.is_waiting(), "for the client to take more");
    assert!(body.frame().now_or_never().is_none());
    let mut idle = pin!(activity.idle(REST, STALL));
    for _ in 0..10 {
        advance(STALL).await;
        assert!(idle.as_mut().now_or_never().is_none());
    }
    drop(body);
    assert!(!activity.is_waiting());
}
