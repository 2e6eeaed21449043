//! A small HTTP server: one compiler, a thread and a session for each request, and requests that can be
//! cancelled.
//!
//! `cargo run -p maskwright --example server` starts it, sends it requests from several threads, and ends.
//! With an address it serves until it is stopped:
//!
//! ```sh
//! cargo run -p maskwright --example server -- 127.0.0.1:8000
//! curl 127.0.0.1:8000/a -d '{"schema": {"type": "integer"}, "max_tokens": 8}'
//! curl 127.0.0.1:8000/a -X DELETE
//! ```

#![allow(clippy::print_stdout, reason = "an example shows what it does")]

mod stand_in;

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::error::Error;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use maskwright::{
    CancelToken, CompileOptions, Compiler, ErrorKind, GrammarSource, Limits, MatcherConfig, mask_words, stop,
};
use serde_json::{Value, json};
use stand_in::StandIn;

/// A status of HTTP, and a body.
type Answer = (u16, Value);

struct Server {
    compiler: Compiler,
    model: StandIn,
    /// What cancels each running request, by its name.
    running: Mutex<HashMap<String, CancelToken>>,
}

impl Server {
    fn new() -> Result<Server, maskwright::Error> {
        // Schemas come from strangers: no mask takes more than some 20 ms, whatever they say.
        let mut limits = Limits::default();
        limits.mask_work = Some(1_000_000);
        let compiler = Compiler::with_limits(&stand_in::bytes()?, limits);
        let model =
            StandIn::new(r#"{"name": "Ada Lovelace", "born": 1815, "fields": ["mathematics", "poetry"]}"#);
        Ok(Server { compiler, model, running: Mutex::default() })
    }

    fn answer(&self, method: &str, name: &str, body: &[u8]) -> Answer {
        match method {
            "POST" => {
                let cancel = CancelToken::new();
                match self.running.lock().expect("no panic").entry(name.to_owned()) {
                    Entry::Occupied(_) => {
                        return (409, json!({"error": "a request of this name is running"}));
                    }
                    Entry::Vacant(place) => _ = place.insert(cancel.clone()),
                }
                let watch = cancel.clone();
                // Stops whatever this thread is in the middle of: a compilation, a mask, a token.
                let (answer, is_stopped) =
                    stop::watched(move || watch.is_cancelled(), || self.generate(body, &cancel));
                self.running.lock().expect("no panic").remove(name);
                match answer {
                    _ if is_stopped || cancel.is_cancelled() => (499, json!({"error": "cancelled"})),
                    Ok(text) => (200, json!({"text": text})),
                    Err(error) => refusal(error.as_ref()),
                }
            }
            "DELETE" => match self.running.lock().expect("no panic").get(name) {
                Some(cancel) => {
                    cancel.cancel();
                    (202, json!({}))
                }
                None => (404, json!({"error": "no such request is running"})),
            },
            _ => (405, json!({"error": "expected POST or DELETE"})),
        }
    }

    /// Writes a text for a request.
    fn generate(&self, body: &[u8], cancel: &CancelToken) -> Result<String, Box<dyn Error>> {
        let request: Value = serde_json::from_slice(body)?;
        let source = GrammarSource::json_schema(&request["schema"], Default::default());
        let mut options = CompileOptions::default();
        options.cancel = Some(cancel.clone());
        let grammar = self.compiler.compile(&source, &options)?;
        let max_tokens = request["max_tokens"].as_u64().unwrap_or(200) as usize;
        let mut matcher = grammar.matcher_with(&MatcherConfig::with_max_tokens(max_tokens))?;
        let mut mask = vec![0; mask_words(self.compiler.tokenizer().n_vocab())];
        let mut ids = Vec::new();
        while !matcher.is_terminated() && !cancel.is_cancelled() {
            // As long as a model would take for a token, or less.
            std::thread::sleep(Duration::from_millis(1));
            let logits = self.model.logits(&ids);
            matcher.fill_mask(&mut mask)?;
            let token = stand_in::likeliest(&logits, &mask);
            assert!(matcher.accept_token(token)?);
            ids.push(token);
        }
        Ok(String::from_utf8(matcher.text())?)
    }

    /// Reads a request from a connection, and answers it.
    fn serve(&self, connection: &TcpStream) -> Result<(), Box<dyn Error>> {
        let mut reader = BufReader::new(connection);
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let mut words = line.split_whitespace();
        let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let mut length = 0;
        for header in reader.by_ref().lines() {
            let header = header?.to_ascii_lowercase();
            match header.split_once(':') {
                Some(("content-length", value)) => length = value.trim().parse::<usize>()?.min(1 << 20),
                Some(_) => {}
                None => break,
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body)?;
        let (status, answer) = self.answer(method, path.trim_start_matches('/'), &body);
        let answer = answer.to_string();
        let length = answer.len();
        let mut connection = connection;
        write!(
            connection,
            "HTTP/1.1 {status} -\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{answer}"
        )?;
        Ok(())
    }

    /// Serves connections, each on a thread of its own, until one comes after `is_done` was set.
    fn run(&self, listener: &TcpListener, is_done: &AtomicBool) {
        std::thread::scope(|scope| {
            for connection in listener.incoming().flatten() {
                if is_done.load(Ordering::Relaxed) {
                    break;
                }
                scope.spawn(move || {
                    if let Err(error) = self.serve(&connection) {
                        println!("a connection failed: {error}");
                    }
                });
            }
        });
    }
}

/// What a request that cannot be carried out is told: what is wrong, where, and what to do.
fn refusal(error: &(dyn Error + 'static)) -> Answer {
    let Some(error) = error.downcast_ref::<maskwright::Error>() else {
        return (400, json!({"error": error.to_string()}));
    };
    let status = if error.kind() == ErrorKind::Internal { 500 } else { 400 };
    let place = json!({"pointer": error.pointer(), "keyword": error.keyword(), "hint": error.hint(), "needed": error.needed()});
    (status, json!({"error": error.to_string(), "place": place}))
}

/// Sends a request, as a client does.
fn send(address: SocketAddr, method: &str, name: &str, body: &Value) -> Result<Answer, Box<dyn Error>> {
    let mut connection = TcpStream::connect(address)?;
    let body = body.to_string();
    let length = body.len();
    write!(connection, "{method} /{name} HTTP/1.1\r\nContent-Length: {length}\r\n\r\n{body}")?;
    let mut answer = String::new();
    connection.read_to_string(&mut answer)?;
    let (head, body) = answer.split_once("\r\n\r\n").ok_or("no answer")?;
    let status = head.split(' ').nth(1).ok_or("no status")?.parse()?;
    Ok((status, serde_json::from_str(body)?))
}

/// Requests of several clients at once; returns when all are answered.
fn ask(address: SocketAddr) {
    let person = json!({"type": "object", "properties": {"name": {"type": "string"}, "born": {"type": "integer"}},
        "required": ["name", "born"], "additionalProperties": false});
    let endless = json!({"type": "string", "minLength": 1_000_000});
    let post = |name: &str, schema: &Value, max_tokens: usize| {
        let answer = send(address, "POST", name, &json!({"schema": schema, "max_tokens": max_tokens}));
        let answer = answer.expect("the server answers");
        println!("{name}: {} {}", answer.0, answer.1);
        answer
    };
    std::thread::scope(|scope| {
        for name in ["a", "b", "c", "d"] {
            let (person, post) = (&person, &post);
            scope.spawn(move || {
                let (status, answer) = post(name, person, 80);
                let text: Value =
                    serde_json::from_str(answer["text"].as_str().expect("a text")).expect("JSON");
                assert!(status == 200 && text["name"] == "Ada Lovelace" && text["born"].is_u64());
            });
        }
        let slow = scope.spawn(|| post("slow", &endless, 2_000_000));
        let cancelled =
            || send(address, "DELETE", "slow", &Value::Null).expect("the server answers").0 == 202;
        // Until it has begun, there is no such request.
        while !cancelled() {
            std::thread::sleep(Duration::from_millis(10));
        }
        assert_eq!(slow.join().expect("no panic").0, 499);
    });
    let (status, answer) = post("wrong", &json!({"type": "text"}), 80);
    assert_eq!((status, &answer["place"]["keyword"]), (400, &json!("type")));
    let (status, answer) = post("short", &person, 3);
    assert!(status == 400 && answer["place"]["needed"].as_u64() > Some(3));
}

/// Starts a server and asks it, or serves at an address.
pub fn main() -> Result<(), Box<dyn Error>> {
    let server = Server::new()?;
    // A test gives its own arguments: only an address is one of ours.
    let is_done = AtomicBool::new(false);
    if let Some(address) = std::env::args().nth(1).and_then(|word| word.parse::<SocketAddr>().ok()) {
        server.run(&TcpListener::bind(address)?, &is_done);
        return Ok(());
    }
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    std::thread::scope(|scope| {
        let client = scope.spawn(|| {
            let asked = std::panic::catch_unwind(|| ask(address));
            is_done.store(true, Ordering::Relaxed);
            TcpStream::connect(address).expect("the server listens");
            asked
        });
        server.run(&listener, &is_done);
        client.join().expect("no panic").expect("every assertion holds");
    });
    Ok(())
}
