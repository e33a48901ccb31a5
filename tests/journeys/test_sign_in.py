"""Sign-in in a real browser, against an OpenID Connect provider of our own on this machine."""

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from playwright.sync_api import expect

from bench.server import free_port, running
from gpudash.text import Text

pytest.importorskip("authlib")
jose = pytest.importorskip("joserfc")

TEXT = Text("en")
CLIENT = "gpudash"


class Provider(BaseHTTPRequestHandler):
    """Everybody is Ada: no form to fill in, one key, one user."""

    def log_message(self, *_):
        pass

    def do_GET(self):
        place = urlsplit(self.path)
        asked = {name: values[0] for name, values in parse_qs(place.query).items()}
        if place.path == "/authorize":
            self.server.nonce = asked["nonce"]
            self.send_response(302)
            self.send_header("Location", f"{asked['redirect_uri']}?{urlencode({'code': 'c', 'state': asked['state']})}")
            self.end_headers()
        elif place.path == "/keys":
            self._answer({"keys": [self.server.key.as_dict(private=False)]})
        else:
            self._answer(
                {
                    "issuer": self.server.address,
                    "authorization_endpoint": f"{self.server.address}/authorize",
                    "token_endpoint": f"{self.server.address}/token",
                    "jwks_uri": f"{self.server.address}/keys",
                    "id_token_signing_alg_values_supported": ["RS256"],
                }
            )

    def do_POST(self):
        from joserfc import jwt

        self.rfile.read(int(self.headers["Content-Length"]))
        now = int(time.time())
        claims = {"iss": self.server.address, "aud": CLIENT, "sub": "1", "iat": now, "exp": now + 600}
        claims |= {"nonce": self.server.nonce, "name": "Ada", "email": "ada@example.com"}
        token = jwt.encode({"alg": "RS256", "kid": self.server.key.kid}, claims, self.server.key)
        self._answer({"access_token": "a", "token_type": "Bearer", "expires_in": 600, "id_token": token})

    def _answer(self, values):
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(json.dumps(values).encode())


@pytest.fixture
def provider():
    from joserfc.jwk import RSAKey

    server = ThreadingHTTPServer(("127.0.0.1", 0), Provider)
    server.address = f"http://127.0.0.1:{server.server_port}"
    server.key = RSAKey.generate_key(2048, {"kid": "1"})
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server.address
    server.shutdown()


def test_where_sign_in_is_configured_nobody_sees_a_number_before_and_everybody_after_it(page, provider, tmp_path):
    port, secrets = free_port(), tmp_path / "secrets.toml"
    secrets.write_text(
        f'[auth]\nredirect_uri = "http://127.0.0.1:{port}/oauth2callback"\ncookie_secret = "{"x" * 40}"\n'
        f'client_id = "{CLIENT}"\nclient_secret = "s"\n'
        f'server_metadata_url = "{provider}/.well-known/openid-configuration"\n',
        encoding="utf-8",
    )
    with running(port=port, STREAMLIT_SECRETS_FILES=str(secrets)) as server:
        page.goto(f"{server.address}/tco?v=1&traffic.peak_requests_per_s=20")
        expect(page.get_by_text(TEXT("frame.sign_in_title"))).to_be_visible()
        expect(page.get_by_test_id("stMetric")).to_have_count(0)
        expect(page.get_by_test_id("stSidebar")).to_have_count(0)
        page.get_by_role("button", name=TEXT("frame.sign_in"), exact=True).click()
        expect(page.get_by_test_id("stMetric").first).to_be_visible()
        page.get_by_role("button", name=TEXT("frame.sign_out"), exact=True).click()
        expect(page.get_by_text(TEXT("frame.sign_in_title"))).to_be_visible()
