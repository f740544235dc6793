"""A client in Python, with the standard library alone. A request that is repeated takes effect once.

export HEADROOM_URL=http://127.0.0.1:8080 HEADROOM_KEY=hr_…
python3 headroom.py limit quay-1 22          limits the location for an hour
python3 headroom.py follow quay-1            prints its events; the next run continues after the last one
WEBHOOK_SECRET=whsec_… python3 headroom.py receive 9000    prints the events of a webhook
"""

import base64
import hashlib
import hmac
import json
import os
import sys
import time
import uuid
from datetime import datetime, timedelta, timezone
from http.client import HTTPException
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import quote
from urllib.request import Request, urlopen

LAST = Path("last-event.txt")
REPEATABLE = (409, 429, 500, 503)


def call(method, path, body=None):
    headers = {"x-api-key": os.environ["HEADROOM_KEY"]}
    data = None
    if body is not None:
        data = json.dumps(body).encode()
        headers |= {"content-type": "application/json", "idempotency-key": f'"{uuid.uuid4()}"'}
    request = Request(os.environ["HEADROOM_URL"] + path, data, headers, method=method)
    for wait_s in (1, 2, 4, 8, 16, 32):
        try:
            with urlopen(request, timeout=40) as answer:
                return json.load(answer)
        except HTTPError as refusal:
            problem = refusal.read().decode()
            if refusal.code not in REPEATABLE:
                break
            wait_s = int(refusal.headers.get("retry-after", wait_s))
        except (OSError, HTTPException) as failure:
            problem = str(failure)
        time.sleep(wait_s)
    sys.exit(problem)


def limit(location_id, limit_kw):
    now = datetime.now(timezone.utc)
    body = {
        "priority": 5,
        "limitKw": float(limit_kw),
        "startTime": now.isoformat(),
        "endTime": (now + timedelta(hours=1)).isoformat(),
    }
    answer = call("POST", f"/v1/locations/{quote(location_id, safe='')}/schedules", body)
    print(answer["status"], answer["effectiveLimitKw"])


def follow(location_id):
    while True:
        after = f"&after={LAST.read_text()}" if LAST.exists() else ""
        page = call("GET", f"/v1/events?waitS=25&locationId={quote(location_id, safe='')}{after}")
        if not page["isGapless"]:
            print("events are missing: read the state", flush=True)
        for event in page["events"]:
            print(event["type"], event["data"], flush=True)
        LAST.write_text(page["last"])


def is_genuine(secret, headers, body):
    """Standard Webhooks: one of the signatures is right, and at most five minutes old."""
    event_id, at, signatures = (headers.get(f"webhook-{name}", "") for name in ("id", "timestamp", "signature"))
    key = base64.b64decode(secret.removeprefix("whsec_"))
    digest = hmac.digest(key, f"{event_id}.{at}.".encode() + body, hashlib.sha256)
    expected = b"v1," + base64.b64encode(digest)
    is_recent = at.isdecimal() and abs(time.time() - int(at)) < 300
    return is_recent and any(hmac.compare_digest(expected, each) for each in signatures.encode().split(b" "))


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        genuine = is_genuine(os.environ["WEBHOOK_SECRET"], self.headers, body)
        if genuine:
            event = json.loads(body)["data"]
            print(event["type"], event["data"], flush=True)
        self.send_response(204 if genuine else 401)
        self.end_headers()


def receive(port):
    HTTPServer(("127.0.0.1", int(port)), Receiver).serve_forever()


if __name__ == "__main__":
    command, *arguments = sys.argv[1:]
    {"limit": limit, "follow": follow, "receive": receive}[command](*arguments)
