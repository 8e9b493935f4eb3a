"""Stands in for the ``vllm`` command: takes its arguments and serves its routes. The first argument is a behaviour.

A token is a character. Its log-probability is made up of itself and of how many tokens come before it (``chance``).
"""

import json
import os
import signal
import subprocess
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any


def chance(before: int, token: int) -> float:
    """The log-probability of a token."""
    return -((token * 31 + before * 7) % 50) / 10 - 0.1


def tokens_of(body: dict[str, Any]) -> list[int]:
    """The tokens of a prompt or of messages."""
    text = (
        body.get("prompt") or "".join(f"<{item['role']}>{item['content']}" for item in body["messages"]) + "<assistant>"
    )
    return [ord(sign) for sign in text]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    model = ""

    def do_GET(self) -> None:
        if self.path == "/health":
            return self._reply({})
        if self.path == "/v1/models":
            return self._reply({"data": [{"id": self.model, "owned_by": "vllm", "max_model_len": 4096}]})
        return self._reply({}, 404)

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path == "/tokenize":
            return self._reply({"tokens": tokens_of(body), "count": len(tokens_of(body)), "max_model_len": 4096})
        if self.path == "/v1/completions" and "logprob_token_ids" in body:
            return self._reply(forked(body))
        if self.path == "/v1/chat/completions" and body["messages"][-1]["content"] == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        message = {"message": {"content": "well"}, "text": "well"}
        told = {"finish_reason": "stop", "logprobs": {"content": [{"logprob": -1.0}]}}
        return self._reply({"choices": [message | told], "usage": {"prompt_tokens": 5, "completion_tokens": 2}})

    def _reply(self, body: object, code: int = 200) -> None:
        content = json.dumps(body).encode()
        self.send_response(code)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


def forked(body: dict[str, Any]) -> dict[str, Any]:
    """How likely each label is after each prompt, with one more token, as vLLM tells it; in reverse order."""
    choices = []
    for index, prompt in enumerate(body["prompt"]):
        chances = {f"token_id:{token}": chance(len(prompt), token) for token in (0, *body["logprob_token_ids"])}
        choices.append(
            {"index": index, "text": "x", "logprobs": {"top_logprobs": [chances]}, "finish_reason": "length"}
        )
    return {"choices": choices[::-1], "usage": {"prompt_tokens": 9, "completion_tokens": len(choices)}}


def main(behaviour: str, arguments: list[str]) -> None:
    """Serve, or do what is said instead."""
    print("arguments", json.dumps(arguments), flush=True)
    print("environment", json.dumps(dict(os.environ)), flush=True)
    if behaviour == "dies":
        sys.exit("Traceback\nValueError: No available memory for the cache blocks \x1b[0m")
    if behaviour == "hangs":
        time.sleep(60)
    if behaviour.startswith("/"):
        child = subprocess.Popen(
            [sys.executable, "-c", "import signal, time; signal.signal(15, signal.SIG_IGN); time.sleep(60)"]
        )
        Path(behaviour).write_text(f"{os.getpid()} {child.pid}")
    Handler.model = arguments[arguments.index("--served-model-name") + 1]
    ThreadingHTTPServer(("127.0.0.1", int(arguments[arguments.index("--port") + 1])), Handler).serve_forever()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
