# SPDX-License-Identifier: Apache-2.0
"""weir check as a linter of intent (C58): excerpts, severities, exit codes; serve refuses what check refuses. And
the schemas for editors: every key the parsers know is in them, no other is, every shipped file is valid."""
import json
import re
import unittest

import jsonschema
import yaml

from support.weir_process import ROOT, ConfigFolder, base_settings, run



class Check(unittest.TestCase):
    def check(self, quotas, settings=None, options=()):
        folder = ConfigFolder(settings or base_settings("127.0.0.1:9"), quotas)
        self.addCleanup(folder.remove)
        self.folder = folder
        return run("check", "-c", str(folder.main), *options)

    def test_excerpts_point_at_the_place(self):
        result = self.check("limit:\n  caller: {default: 100}\n  user: {default: 200}\n")
        self.assertEqual(result.returncode, 0)
        self.assertIn("warning: ", result.stdout)
        lines = result.stdout.splitlines()
        at = next(n for n, line in enumerate(lines) if "limit.user.default: is more than limit.caller" in line)
        self.assertRegex(lines[at], r"quotas\.yaml:3:19: ")
        self.assertEqual(lines[at + 1], "     3 |   user: {default: 200}")
        self.assertEqual(lines[at + 2], "       | " + " " * 18 + "^")

    def test_secrets_are_not_excerpted(self):
        settings = base_settings("127.0.0.1:9")
        settings["store"] = {"kind": "redis", "url": "redis://x:hunter2@127.0.0.1:1/0", "password": "hunter2", "tiemout": "20ms"}
        result = self.check({"limit": {"caller": {"default": 5}}}, settings)
        self.assertEqual(result.returncode, 1)
        self.assertIn("tiemout", result.stdout)
        self.assertNotIn("hunter2", result.stdout + result.stderr)

    def test_json(self):
        result = self.check("limit:\n  node: {total: 100}\n  caller: {default: 200}\n", options=("--format", "json"))
        report = json.loads(result.stdout)
        self.assertTrue(report["good"])
        found = next(one for one in report["findings"] if one["path"] == "limit.caller.default")
        self.assertEqual((found["severity"], found["line"], found["column"]), ("warning", 3, 21))
        self.assertTrue(found["file"].endswith("quotas.yaml"))
        broken = json.loads(self.check("limit: {caller: {default: 0}}", options=("--format", "json")).stdout)
        self.assertFalse(broken["good"])
        self.assertEqual(broken["findings"][0]["severity"], "error")

    def test_strict(self):
        warned = "limit: {caller: {default: 100}, user: {default: 200}}"
        self.assertEqual(self.check(warned, options=("--strict",)).returncode, 1)
        self.assertEqual(self.check(warned, options=("--strict", "--quiet")).returncode, 1)
        noted = "limit: {caller: {default: 100, burst: 10}}"
        self.assertEqual(self.check(noted, options=("--strict",)).returncode, 0)

    def test_what_is_wrong_is_refused_by_serve_too(self):
        """C58: the same key twice, a window or a cost of nothing, an unreachable rule."""
        routes = base_settings("127.0.0.1:9")
        routes["routes"] = [{"path": "/a/{x}", "upstream": "default"}, {"path": "/a/{y}", "upstream": "default"}]
        cases = [("limit:\n  caller: {default: 5}\n  caller: {default: 6}\n", None, "quotas.yaml:3:"),
                 ("limit:\n  caller: {default: 5, window: 0s}\n", None, "quotas.yaml:2:"),
                 ("limit:\n  api: {default: 5, cost: {/x: 0}}\n", None, "quotas.yaml:2:"),
                 ("limit:\n  caller: {default: 5}\n", routes, "never reached")]
        for quotas, settings, words in cases:
            result = self.check(quotas, settings)
            self.assertEqual(result.returncode, 1, quotas)
            self.assertIn(words, result.stdout)
            served = run("serve", "-c", str(self.folder.main))
            self.assertEqual(served.returncode, 1, quotas)
            self.assertIn(words, served.stderr)

    def test_what_is_doubtful_is_a_warning(self):
        """C58: a child above its parent, children that promise more than three times their parent."""
        result = self.check("limit:\n  node: {total: 100}\n  caller: {default: 10, overrides: {a: 99, b: 99, c: 99, d: 99}}\n"
                            "  user: {default: 20}\n")
        self.assertEqual(result.returncode, 0)
        self.assertRegex(result.stdout, r"warning: \S*quotas\.yaml:3:\d+: limit\.caller\.overrides: together promise 4\.0 times")
        self.assertRegex(result.stdout, r"warning: \S*quotas\.yaml:4:\d+: limit\.user\.default: is more than limit\.caller")

    def test_another_quota_file(self):
        self.check({"limit": {"caller": {"default": 5}}})
        self.folder.write(self.folder.path / "new.yaml", "limit: {caller: {defualt: 5}}")
        result = run("check", "-c", str(self.folder.main), "--quotas", str(self.folder.path / "new.yaml"))
        self.assertEqual(result.returncode, 1)
        self.assertIn("new.yaml:1:", result.stdout)


class Yaml12(yaml.SafeLoader):
    """As editors and the gateway read it: no dates, no yes, no, on and off."""


Yaml12.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag not in ("tag:yaml.org,2002:timestamp", "tag:yaml.org,2002:bool")]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()}
Yaml12.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile("^(true|false)$"), list("tf"))


class Schemas(unittest.TestCase):
    """The keys themselves are compared with the parsers' by tests/config/schema_test.cpp."""

    @staticmethod
    def complaints(kind, document):
        schema = json.loads((ROOT / "config" / f"{kind}.schema.json").read_text())
        jsonschema.Draft202012Validator.check_schema(schema)
        return [f"{list(error.absolute_path)}: {error.message}" for error in jsonschema.Draft202012Validator(schema).iter_errors(document)]

    def test_every_shipped_file_is_valid(self):
        files = [*(ROOT / "config").glob("*.yaml"), *(ROOT / "config/examples").glob("*.yaml")]
        self.assertGreater(len(files), 6)
        for file in files:
            if not file.name.endswith(".keys.yaml"):
                kind = "weir" if file.name.endswith("weir.yaml") else "quotas"
                self.assertEqual(self.complaints(kind, yaml.load(file.read_text(), Yaml12)), [], file.name)

    def test_what_the_gateway_refuses_is_invalid(self):
        for limit in ({"caller": {"defualt": 5}}, {"caller": {"default": 0}}, {"caller": {"default": "lots"}},
                      {"caller": {"default": 5, "window": "60"}}, {"user": {"default": 5, "algorithm": "token_buckets"}},
                      {"api": {"default": 5, "cost": {"/x": 0}}}, {"caller": {"default": 5, "overrides": {"a": {"windw": "1s"}}}}):
            self.assertTrue(self.complaints("quotas", {"limit": limit}), limit)
        good = base_settings("127.0.0.1:9")
        self.assertEqual(self.complaints("weir", good), [])
        for change in ({"upstrems": {}}, {"workers": 0}, {"store": {"timeout": 20}}, {"routes": []}, {"log": {"format": "text"}},
                       {"identity": {"caller": {"from": [{"header": "X"}], "missing": "nobody"}}}):
            self.assertTrue(self.complaints("weir", {**good, **change}), change)


if __name__ == "__main__":
    unittest.main()
