//! What a model's server may answer, over the whole service: JSON and streams, and heads that are none.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use landing_api::adapters::model::OpenAiModelClient;
use landing_api::adapters::model::openai::{OpenAiSettings, Roots, chat_completions};
use landing_api::domain::chat::Conversation;
use landing_api::ports::{AnswerSink, ModelClient, ModelError, ModelPermit, ModelReply};
use memchr::memmem;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;

use super::{Parts, Trace, runtime};
use crate::Run;
use crate::harness::{Call, Setup, TestApp};
use crate::random::Random;

const INPUTS: u64 = 256;

const TURNS: usize = 4;

const JSON: &[u8] = b"Content-Type: application/json\r\n\r\n";
const STREAM: &[u8] = b"Content-Type: text/event-stream\r\n\r\n";

const SAMPLES: [(&[u8], &[u8]); 12] = [
    (
        JSON,
        br#"{"object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"<think>so</think>Hello there."},"finish_reason":"stop"}]}"#,
    ),
    (
        JSON,
        br#"{"choices":[{"message":{"content":[{"type":"text","text":"Hello \ud83d\ude00"}],"reasoning_content":"hm"},"finish_reason":"length"}],"usage":{"total_tokens":7}}"#,
    ),
    (
        JSON,
        br#"{"error":{"message":"context_length_exceeded","type":"invalid_request_error","code":"context_length_exceeded"}}"#,
    ),
    (JSON, br#"{"choices":[{"message":{"refusal":"no"},"finish_reason":"content_filter"}]}"#),
    (
        STREAM,
        b"data: {\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":\"Hello\"}}]}\n\n\
          data: {\"choices\":[{\"delta\":{\"content\":\" there.\"},\"finish_reason\":null}]}\n\n\
          data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n",
    ),
    (
        STREAM,
        b": comment\r\nevent: message\r\nid: 1\r\nretry: 5\r\ndata: {\"choices\":\r\ndata: [{\"delta\":\
          {\"content\":\"<think>a</think>b\"}}]}\r\n\r\ndata:[DONE]\r\n\r\n",
    ),
    (
        STREAM,
        b"\xef\xbb\xbfdata: {\"choices\":[{\"delta\":{\"reasoning\":\"so\"}}]}\rdata: x\r\r\
          data: {\"error\":{\"message\":\"overloaded\",\"code\":503}}\r\r",
    ),
    (
        STREAM,
        b"data: {\"choices\":[],\"usage\":{}}\n\ndata: {\"choices\":[{\"delta\":{\"content\":\
          \"\\ud83d\\ude00\"},\"finish_reason\":\"length\"}]}\n\ndata: [DONE]\n\n",
    ),
    (b"HTTP/1.1 429 Slow\r\nRetry-After: 7\r\nContent-Length: 0\r\n\r\n", b""),
    (
        b"HTTP/1.1 500 Oh\r\nRetry-After: Fri, 31 Dec 9999 23:59:59 GMT\r\n\
          Content-Type: application/json\r\n\r\n",
        br#"{"error":"overloaded"}"#,
    ),
    (
        b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"3a\r\ndata: {\"choices\":[{\"delta\":{\"content\":\"Hello there.\"}}]}\n\n\r\n0\r\n\r\n",
    ),
    (
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 47\r\n\r\n",
        br#"{"choices":[{"message":{"content":"Hello."}}]}"#,
    ),
];

/// How the next request is answered, byte for byte, and in how many pieces.
type Next = Arc<Mutex<(Vec<u8>, usize)>>;

pub(crate) fn upstream(run: Run) -> Result<String, String> {
    let parts = Parts::of(run.of(500, 300_000), INPUTS);
    super::run(run, "upstream", parts, |random, trace| {
        runtime().block_on(part(random, trace));
    })
}

async fn part(random: &mut Random, trace: &Trace) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let next = Next::default();
    let answers = Arc::clone(&next);
    let serving = tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            stream.set_nodelay(true).unwrap();
            tokio::spawn(answer(stream, Arc::clone(&answers)));
        }
    });
    let model = Arc::new(Clients::default());
    let mut setup = Setup {
        model: model.clone(),
        ..Setup::default()
    };
    for policy in "assistant assistant-ip assistant-prefix assistant-all".split(' ') {
        setup = setup.limit(policy, "1000000/60s");
    }
    let app = setup.start();
    let bodies = SAMPLES.map(|(_, body)| body);
    for _ in 0..INPUTS {
        let (head, body) = *random.pick(&SAMPLES);
        let input = if head.starts_with(b"HTTP") {
            let heads = SAMPLES.map(|(head, _)| head);
            let head = match random.once_in(2) {
                true => random.mutated(head, &heads),
                false => head.to_vec(),
            };
            [head, random.mutated(body, &bodies)].concat()
        } else {
            let body = random.mutated(body, &bodies);
            let length = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n", body.len());
            [length.as_bytes(), head, &body].concat()
        };
        trace.begin(&input);
        *next.lock().unwrap() = (input, 1 + random.below(4));
        let client = client(&format!("http://{address}/v1"), random.once_in(4));
        *model.0.lock().unwrap() = Some(Arc::new(client));
        ask(&app, &model, random).await;
    }
    serving.abort();
}

/// The clients of the model, one for each input: what the breaker of one has seen is nothing to the next.
#[derive(Default)]
struct Clients(Mutex<Option<Arc<OpenAiModelClient>>>);

impl Clients {
    fn current(&self) -> Arc<OpenAiModelClient> {
        self.0.lock().unwrap().clone().unwrap()
    }
}

#[async_trait]
impl ModelClient for Clients {
    fn is_metered(&self) -> bool {
        true
    }

    fn turns_max(&self) -> Option<usize> {
        Some(TURNS)
    }

    fn reserve(&self) -> Result<ModelPermit, ModelError> {
        self.current().reserve()
    }

    async fn reply(
        &self,
        conversation: &Conversation,
        sink: Option<&dyn AnswerSink>,
    ) -> Result<ModelReply, ModelError> {
        self.current().reply(conversation, sink).await
    }
}

fn client(base_url: &str, thinks_first: bool) -> OpenAiModelClient {
    let settings = OpenAiSettings {
        address: chat_completions(base_url).unwrap(),
        model: "small".to_owned(),
        key: None,
        system_prompt: "Be brief.".to_owned(),
        params: serde_json::Map::new(),
        thinks_first,
        timeout: Duration::from_secs(20),
        concurrency: TURNS,
    };
    OpenAiModelClient::new(settings, Roots::of([]), CancellationToken::new()).unwrap()
}

async fn ask(app: &TestApp, model: &Clients, random: &mut Random) {
    let question = r#"{"messages":[{"role":"user","content":"where is it"}]}"#;
    let mut call = Call::post("/api/v1/assistant/chat", question);
    if random.once_in(2) {
        call = call.header("accept", "text/event-stream");
    }
    let reply = app.send(call).await;
    let status = reply.status.as_u16();
    assert!(
        status == 200 || reply.code() == "model_unavailable",
        "{status}"
    );
    let free = model.current().permits_free();
    assert_eq!((app.service.held(), free), ((0, 0), TURNS));
}

/// Reads a request and answers it as it is said.
async fn answer(mut stream: TcpStream, next: Next) {
    let mut request = Vec::new();
    // The body is JSON, and its end the only such one.
    while memmem::find(&request, b"\r\n\r\n").is_none() || !request.ends_with(b"}") {
        match stream.read_buf(&mut request).await {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
    }
    let (bytes, pieces) = next.lock().unwrap().clone();
    for piece in bytes.chunks(bytes.len().div_ceil(pieces).max(1)) {
        if stream.write_all(piece).await.is_err() {
            return;
        }
        tokio::task::yield_now().await;
    }
    let _ = stream.shutdown().await;
}
