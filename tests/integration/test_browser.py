# SPDX-License-Identifier: Apache-2.0
"""A page in a real browser (Chromium, headless) over TLS. WEIR_BROWSER=1 runs it, where chromium is installed."""
import os
import shutil
import subprocess
import tempfile
import unittest

from support.case import GatewayCase
from support.certificates import Authority
from support.upstream import Answer

PAGE = b"""<!doctype html><title>weir</title><p id=out>nothing yet</p><script>
Promise.all([1, 2, 3, 4, 5, 6].map(n => fetch("/data/" + n).then(answer => answer.text()))).then(texts => {
  document.getElementById("out").textContent = location.protocol + " " + texts.join(",");
});
</script>"""


@unittest.skipUnless(os.environ.get("WEIR_BROWSER") and shutil.which("chromium"), "WEIR_BROWSER=1 and chromium")
class Browser(GatewayCase):
    def test_a_page_and_what_it_fetches_come_over_tls(self):
        authority = Authority()
        self.addCleanup(authority.remove)
        upstream = self.upstream(lambda seen: Answer(body=PAGE, headers=[("Content-Type", "text/html")])
                                 if seen.target == "/" else Answer(body=seen.target.encode()))
        weir = self.weir(upstream, wait=False)
        weir.stop()
        weir.settings["listen"] = [{**weir.settings["listen"][0], "tls": authority.issue("a", "DNS:a.test")}]
        weir.folder.write(weir.folder.main, weir.settings)
        weir.start()
        # Believed for its key alone: the browser's own store knows no authority of a test.
        key = authority.openssl("x509", "-in", "a.pem", "-pubkey", "-noout")
        (authority.folder / "public.pem").write_text(key)
        authority.openssl("pkey", "-pubin", "-in", "public.pem", "-outform", "DER", "-out", "public.der")
        authority.openssl("dgst", "-sha256", "-binary", "-out", "public.hash", "public.der")
        pin = authority.openssl("base64", "-in", "public.hash").strip()
        profile = tempfile.mkdtemp(prefix="weir-browser-")
        self.addCleanup(shutil.rmtree, profile, True)
        host, port = weir.client.address
        done = subprocess.run(
            ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
             f"--user-data-dir={profile}", f"--host-resolver-rules=MAP a.test {host}",
             f"--ignore-certificate-errors-spki-list={pin}", "--virtual-time-budget=10000", "--dump-dom",
             f"https://a.test:{port}/"], capture_output=True, text=True, timeout=100)
        expected = "https: " + ",".join(f"/data/{n}" for n in range(1, 7))
        self.assertIn(expected, done.stdout, done.stderr[-2000:])
        self.assertEqual(upstream.last().get("X-Forwarded-Proto"), "https")
        versions = {record["tls"] for record in weir.records('"path":"/data/')}
        self.assertEqual(versions, {"TLSv1.3"})
