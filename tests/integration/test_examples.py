# SPDX-License-Identifier: Apache-2.0
"""The two quota documents that the gateway was built for load unchanged and mean what they say; so does every
example in config/examples."""
import shutil
import tempfile
import pathlib

from support.case import GatewayCase, who
from support.certificates import Authority
from support.client import statuses
from support.weir_process import ROOT, run

GATEWAY = """
limit:                                    # the gateway
  node: {total: 100000, algorithm: sliding_window}
  caller: {default: 5000, overrides: {high_priority_caller: 20000, scraping_bot: 500}}
  user: {default: 100}
  api:
    default: 600
    overrides: {"/order/pay": 60, "/user/info": 200}
    priority: {"/order/pay": true}
"""
SAAS = """
limit:                                    # the multi-tenant SaaS
  caller: {default: 500, algorithm: sliding_log}
  role:  {default: 100, overrides: {OPERATOR: 200, FINANCE: 100, ENGINEER: 150, SYSTEM: 50}, algorithm: sliding_log}
  class: {default: 50, overrides: {billing: {limit: 50, on_exceed: queue}, report: 80, device: 100, alarm: 30}, algorithm: sliding_log}
"""
SAAS_SETTINGS = {
    "identity": {"role": {"from": [{"header": "X-Role"}], "missing": "anonymous"}},
    "classes": {"billing": ["/billing/**", "/prepay/**"], "report": ["/report/**", "/export/**"],
                "alarm": ["/alarm/**", "/notify/**"], "device": []},
}


def normal(text):
    """The document without comments and layout."""
    lines = (line.split("#")[0] for line in text.splitlines())
    return " ".join(" ".join(lines).split())


class Gateway(GatewayCase):
    def setUp(self):
        self.gateway = self.weir(self.upstream(), quotas=GATEWAY)

    def limits(self, target, headers):
        explained = self.gateway.admin.get(
            "/explain?path=" + target + "".join(f"&header={k}:{v}" for k, v in headers.items())).json()
        return {layer["layer"]: (layer["limit"], layer["window_ms"], layer["algorithm"])
                for layer in explained["layers"] if "limit" in layer}

    def test_what_it_says(self):
        self.assertEqual(self.limits("/x", who("any", "u")), {
            "node": (100000, 60000, "sliding_window"), "caller": (5000, 60000, "token_bucket"),
            "user": (100, 60000, "token_bucket"), "api": (600, 60000, "fixed_window")})
        self.assertEqual(self.limits("/x", who("high_priority_caller", "u"))["caller"][0], 20000)
        self.assertEqual(self.limits("/x", who("scraping_bot", "u"))["caller"][0], 500)
        self.assertEqual(self.limits("/order/pay", who("any", "u"))["api"][0], 60)
        self.assertEqual(self.limits("/user/info", who("any", "u"))["api"][0], 200)

    def test_the_priority_moves_the_api_layer_for_that_api(self):
        self.assertEqual(list(self.limits("/order/pay", who("any", "u"))), ["node", "caller", "api", "user"])
        self.assertEqual(list(self.limits("/user/info", who("any", "u"))), ["node", "caller", "user", "api"])

    def test_what_it_does(self):
        counts = statuses(self.at_once(self.gateway, 200, "/x", who("A", "u1")))
        self.assertTrue(100 <= counts[200] <= 104, counts)
        counts = statuses(self.at_once(self.gateway, 100, "/order/pay", lambda i: who("A", f"v{i % 5}")))
        self.assertIn(counts[200], range(60, 121))  # twice only if the window ends just now
        self.assertEqual(statuses(self.at_once(self.gateway, 50, "/user/info", who("B", "u1"))), {200: 50})


class Saas(GatewayCase):
    def test_what_it_does(self):
        weir = self.weir(self.upstream(), quotas=SAAS, settings=SAAS_SETTINGS)
        ask = lambda caller, role, target, count: statuses(self.at_once(weir, count, target, who(caller, X_Role=role)))
        self.assertEqual(ask("t1", "OPERATOR", "/report/daily", 120), {200: 80, 429: 40})
        self.assertEqual(ask("t1", "OPERATOR", "/export/all", 5), {429: 5}, "the same class")
        self.assertEqual(ask("t1", "OPERATOR", "/anything", 130), {200: 100, 429: 30}, "device takes the rest")
        self.assertEqual(ask("t2", "SYSTEM", "/anything", 60), {200: 50, 429: 10})
        self.assertEqual(ask("t3", "OPERATOR", "/alarm/x", 40), {200: 30, 429: 10})
        self.assertEqual(ask("t1", "SYSTEM", "/billing/pay", 10), {200: 10}, "a storm of reports leaves billing whole")


class Shipped(GatewayCase):
    def examples(self):
        return sorted((ROOT / "config" / "examples").glob("*.yaml"))

    def test_both_documents_ship(self):
        texts = [normal(path.read_text()) for path in self.examples()]
        for document in (GATEWAY, SAAS):
            self.assertTrue(any(normal(document) in text for text in texts), document)

    def bring_certificates(self, folder):
        """What tls.weir.yaml leaves to its reader."""
        authority = Authority()
        self.addCleanup(authority.remove)
        for name in ("site", "shop", "gateway"):
            pair = authority.issue(name, f"DNS:{name}.test")
            shutil.copy(pair["certificate"], folder / f"{name}.pem")
            shutil.copy(pair["key"], folder / f"{name}.key")
        authority.openssl("ocsp", "-issuer", "ca.pem", "-cert", "site.pem", "-reqout", "request.der")
        authority.openssl("ocsp", "-index", "index.txt", "-rsigner", "ca.pem", "-rkey", "ca.key", "-CA", "ca.pem",
                          "-reqin", "request.der", "-respout", str(folder / "site.ocsp"), "-ndays", "2")
        for name in ("clients", "upstreams"):
            shutil.copy(authority.ca, folder / f"{name}.pem")

    def test_every_example_is_good(self):
        self.assertTrue(self.examples())
        folder = pathlib.Path(tempfile.mkdtemp(prefix="weir-examples-"))
        self.addCleanup(shutil.rmtree, folder)
        shutil.copytree(ROOT / "config", folder / "config")
        self.bring_certificates(folder / "config" / "examples")
        mains = [p for p in (folder / "config").rglob("*.yaml") if "\nlisten:" in p.read_text()]
        self.assertTrue(mains)
        for path in mains:
            result = run("check", "-c", str(path))
            self.assertEqual(result.returncode, 0, f"{path}\n{result.stdout}{result.stderr}")


if __name__ == "__main__":
    import unittest
    unittest.main()
