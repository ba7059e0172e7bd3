"""Runs the samples for nginx and Caddy, with a self-made certificate, in front of the real program."""

import contextlib
import getpass
import grp
import http.server
import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import threading
import time

NAME = "api.example.com"
SAMPLES = pathlib.Path("data/deploy")
CHAT = '{"messages":[{"role":"user","content":"hello"}]}'
# Long enough for a slow machine; nothing waits this long in a passing run.
DEADLINE_S = 20


class Model(http.server.BaseHTTPRequestHandler):
    """A model that says half of its answer, and the rest once `rest` is set."""

    rest = threading.Event()

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        self.say("The first half of the answer, ")
        self.rest.wait(DEADLINE_S)
        self.say("and the second.")
        self.wfile.write(b"data: [DONE]\n\n")

    def say(self, text):
        chunk = {"choices": [{"index": 0, "delta": {"content": text}}]}
        self.wfile.write(f"data: {json.dumps(chunk)}\n\n".encode())
        self.wfile.flush()

    def log_message(self, *_):
        pass


def free_port():
    with socket.socket() as it:
        it.bind(("127.0.0.1", 0))
        return it.getsockname()[1]


def wait_for(port):
    end = time.monotonic() + DEADLINE_S
    while True:
        try:
            return socket.create_connection(("127.0.0.1", port)).close()
        except ConnectionRefusedError:
            if time.monotonic() > end:
                raise
            time.sleep(0.1)


def sample(name, replaced):
    """The sample, with the addresses and files of this trial."""
    text = (SAMPLES / name).read_text()
    for old, new in replaced.items():
        assert old in text, f"{name} has no {old}"
        text = text.replace(old, new)
    return text


def nginx(folder, backend, https, plain):
    site = sample(
        "nginx.conf",
        {
            "127.0.0.1:8080": backend,
            "listen [::]:443 ssl http2;": "",
            "listen [::]:80;": "",
            "listen 443": f"listen 127.0.0.1:{https}",
            "listen 80;": f"listen 127.0.0.1:{plain};",
            f"/etc/letsencrypt/live/{NAME}/fullchain.pem": f"{folder}/cert.pem",
            f"/etc/letsencrypt/live/{NAME}/privkey.pem": f"{folder}/key.pem",
        },
    )
    paths = "".join(
        f"{kind}_temp_path {folder}/{kind};\n"
        for kind in ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
    )
    (folder / "nginx.conf").write_text(
        f"user {getpass.getuser()} {grp.getgrgid(os.getgid()).gr_name}; daemon off; pid {folder}/pid; error_log stderr error; events {{}}\n"
        f"http {{ access_log off;\n{paths}{site}}}\n"
    )
    return ["nginx", "-e", "stderr", "-c", f"{folder}/nginx.conf"]


def caddy(folder, backend, https, plain):
    options = (
        "{\n\tadmin off\n\tdefault_bind 127.0.0.1\n"
        f"\thttp_port {plain}\n\thttps_port {https}\n\tskip_install_trust\n}}\n"
    )
    site = sample(
        "Caddyfile",
        {
            "127.0.0.1:8080": backend,
            f"\n{NAME} {{": f"\n{NAME} {{\n\ttls {folder}/cert.pem {folder}/key.pem",
        },
    )
    (folder / "Caddyfile").write_text(options + site)
    return ["caddy", "run", "--config", f"{folder}/Caddyfile", "--adapter", "caddyfile"]


class Client:
    """curl, from an address of its own."""

    def __init__(self, folder, port, address):
        self.base = f"https://{NAME}:{port}"
        self.words = ["curl", "--silent", "--show-error", "--noproxy", "*", "--max-time", str(DEADLINE_S)]
        self.words += ["--cacert", f"{folder}/cert.pem", "--interface", address]
        self.words += ["--resolve", f"{NAME}:{port}:127.0.0.1"]

    def ask(self, path, body=None, *flags):
        """Status, HTTP version, headers and body."""
        words = [*self.words, *flags, "--write-out", "\n%{http_code} %{http_version}\n%{header_json}"]
        if body is not None:
            words += ["--header", "Content-Type: application/json", "--data-binary", "@-"]
        done = subprocess.run([*words, self.base + path], input=body, capture_output=True, text=True, check=True)
        answer, _, headers = done.stdout.partition("\n{")
        answer, _, line = answer.rpartition("\n")
        status, version = line.split()
        return int(status), version, json.loads("{" + headers), answer

    def sign_up(self, email, *flags):
        return self.ask("/api/v1/newsletter", json.dumps({"email": email}), *flags)

    def stream(self):
        """Reads the first half of the model's answer, then lets it say the second."""
        Model.rest.clear()
        words = [*self.words, "--no-buffer", "--header", "Accept: text/event-stream"]
        words += ["--header", "Content-Type: application/json", "--data", CHAT]
        with subprocess.Popen([*words, self.base + "/api/v1/assistant/chat"], stdout=subprocess.PIPE, text=True) as curl:
            seen = ""
            for line in curl.stdout:
                seen += line
                if "first half" in seen and not Model.rest.is_set():
                    assert "second" not in seen, seen
                    Model.rest.set()
        assert curl.returncode == 0 and "event: message" in seen and "and the second." in seen, seen


def check(name, folder, https, plain):
    one, other = (Client(folder, https, f"127.0.0.{n}") for n in (2, 3))
    status, version, _, answer = one.ask("/api/v1/health", None, "--http2")
    assert (status, version) == (200, "2"), (status, version)
    assert json.loads(answer)["openapi"] == f"https://{NAME}/openapi.json", answer
    status, _, headers, _ = one.ask("/docs")
    assert status == 200 and "strict-transport-security" in headers, headers

    # Three sign-ups are allowed per address, whatever address it claims to be.
    for n in range(3):
        forged = ["--header", f"X-Forwarded-For: 198.51.100.{n}", "--header", "X-Real-IP: 198.51.100.9"]
        status, _, _, answer = one.sign_up(f"{name}-{n}@example.com", *forged)
        assert status == 200, (status, answer)
    status, _, headers, answer = one.sign_up(f"{name}-3@example.com", *forged)
    assert status == 429 and int(headers["retry-after"][0]) > 0, (status, headers)
    assert headers["content-type"] == ["application/problem+json"], headers
    assert json.loads(answer)["code"] == "rate_limited", answer
    assert other.sign_up(f"{name}-4@example.com")[0] == 200, "another address has a limit of its own"

    # Nearly the largest body that the service accepts, and one that is too large.
    turn = {"role": "user", "content": "😀" * 2000}
    # As \u escapes, the longest form of a character: 282 kB.
    large = json.dumps({"messages": [turn] * 12})
    Model.rest.set()
    status, _, _, answer = one.ask("/api/v1/assistant/chat", large)
    assert status == 200, (status, answer)
    status, _, _, answer = one.ask("/api/v1/assistant/chat", " " * 400_000)
    # The service responds without reading it. Caddy may notice first that its connection is closed.
    assert status == 413 or (name, status) == ("caddy", 502), (status, answer)
    one.stream()
    moved = subprocess.run(
        ["curl", "--silent", "--noproxy", "*", "--output", "/dev/null", "--write-out", "%{http_code} %{redirect_url}",
         "--resolve", f"{NAME}:{plain}:127.0.0.1", f"http://{NAME}:{plain}/docs"],
        capture_output=True, text=True, check=True,
    ).stdout
    assert moved.startswith(("308 https://", "301 https://")), moved
    print(f"{name}: sign-ups, forged addresses, streams, large bodies and refusals pass as they should")


@contextlib.contextmanager
def running(words, port, **options):
    process = subprocess.Popen(words, **options)
    try:
        wait_for(port)
        yield
    finally:
        process.terminate()
        status = process.wait(DEADLINE_S)
    assert status == 0, (words[0], status)


def main(program):
    model = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Model)
    threading.Thread(target=model.serve_forever, daemon=True).start()
    for start in (nginx, caddy):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            subprocess.run(
                ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                 "-days", "2", "-subj", f"/CN={NAME}", "-addext", f"subjectAltName=DNS:{NAME}",
                 "-keyout", f"{folder}/key.pem", "-out", f"{folder}/cert.pem"],
                check=True, stderr=subprocess.DEVNULL,
            )
            backend, https, plain = free_port(), free_port(), free_port()
            service = [
                program, "--data-dir", f"{folder}/data", "--listen", f"127.0.0.1:{backend}",
                "--base-url", f"https://{NAME}", "--trusted-proxy", "127.0.0.1", "--log-level", "warn",
                "--model-url", f"http://127.0.0.1:{model.server_port}/v1", "--model", "half",
                "--limit", "newsletter-ip=3/15m",
            ]
            proxy = start(folder, f"127.0.0.1:{backend}", https, plain)
            # Caddy stores its state in its home directory.
            environment = {"HOME": name, "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}
            with running(service, backend, stdout=subprocess.DEVNULL):
                with running(proxy, https, env=environment, stderr=subprocess.DEVNULL):
                    check(start.__name__, folder, https, plain)


main(*sys.argv[1:])
