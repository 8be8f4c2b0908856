# SPDX-License-Identifier: Apache-2.0
"""The command line: exit codes 0 good, 1 found wrong, 2 could not run; errors with file, line and the nearest
word."""
import re
import unittest

from support.weir_process import ConfigFolder, base_settings, run


class Commands(unittest.TestCase):
    def check(self, quotas=None, settings=None, code=None):
        folder = ConfigFolder(settings or base_settings("127.0.0.1:9"), quotas or {"limit": {"caller": {"default": 5}}})
        self.addCleanup(folder.remove)
        result = run("check", "-c", str(folder.main))
        if code is not None:
            self.assertEqual(result.returncode, code, result)
        return result.stdout + result.stderr

    def test_a_good_file(self):
        self.check(code=0)

    def test_errors_name_place_and_nearest_word(self):
        cases = {
            "limit:\n  caller: {defualt: 5}\n": (2, "default"),
            "limit:\n  caller:\n    default: 5\n    algorithm: token_buckets\n": (4, "token_bucket"),
            "limit:\n  caller: {default: 5, windw: 60s}\n": (2, "window"),
            "limmit:\n  caller: {default: 5}\n": (1, "limit"),
        }
        for text, (line, word) in cases.items():
            output = self.check(text, code=1)
            self.assertRegex(output, rf"quotas\.yaml:{line}:\d+: ", text)
            self.assertIn(word, output, text)

    def test_all_errors_at_once(self):
        output = self.check("limit:\n  caller: {default: -1, windw: 3}\n  user: {default: 0}\n", code=1)
        self.assertGreaterEqual(len(re.findall(r"quotas\.yaml:\d+:\d+", output)), 3, output)

    def test_values_that_are_never_right(self):
        for value in ("0", "-1", "1.5", "lots", "''", "[1]", "99999999999999999999", "1e3", "0x10"):
            self.check(f"limit:\n  caller: {{default: {value}}}\n", code=1)
        for window in ("0s", "-1s", "60", "32d", "1y", "500ms", "60 s"):
            self.check(f"limit:\n  caller: {{default: 5, window: '{window}'}}\n", code=1)

    def test_duplicates_and_missing_defaults(self):
        self.assertIn("caller", self.check("limit:\n  caller: {default: 5}\n  caller: {default: 6}\n", code=1))
        self.assertIn("default", self.check("limit:\n  caller: {overrides: {a: 5}}\n", code=1))

    def test_paths_no_route_has(self):
        settings = base_settings("127.0.0.1:9")
        settings["routes"] = [{"path": "/a/**", "upstream": "default"}]
        output = self.check({"limit": {"api": {"default": 5, "overrides": {"/b/pay": 1}}}}, settings)
        self.assertIn("/b/pay", output)

    def test_expired_overrides_and_bursts_are_warnings(self):
        quotas = {"limit": {"caller": {"default": 5, "overrides": {"x": {"limit": 9, "until": "2020-01-01T00:00:00Z"}}}}}
        output = self.check(quotas, code=0)
        self.assertRegex(output, r"warning: .*quotas\.yaml:1:\d+: .*expired")

    def test_layers_that_do_not_exist_are_said(self):
        output = self.check(code=0)
        self.assertIn("user", output)

    def test_unknown_keys_of_the_main_file(self):
        settings = base_settings("127.0.0.1:9")
        settings["upstrems"] = {}
        output = self.check(settings=settings, code=1)
        self.assertRegex(output, r"weir\.yaml:\d+:\d+: ")
        self.assertIn("upstreams", output)

    def test_a_route_to_nowhere(self):
        settings = base_settings("127.0.0.1:9")
        settings["routes"] = [{"path": "/**", "upstream": "defalt"}]
        self.assertIn("default", self.check(settings=settings, code=1))

    def test_missing_files_could_not_run(self):
        result = run("check", "-c", "/nonexistent/weir.yaml")
        self.assertIn(result.returncode, (1, 2))
        self.assertIn("/nonexistent/weir.yaml", result.stderr + result.stdout)
        self.assertIn(run("serve", "-c", "/nonexistent/weir.yaml").returncode, (1, 2))

    def test_serve_refuses_what_check_refuses(self):
        folder = ConfigFolder(base_settings("127.0.0.1:9"), "limit:\n  caller: {defualt: 5}\n")
        self.addCleanup(folder.remove)
        result = run("serve", "-c", str(folder.main))
        self.assertIn(result.returncode, (1, 2))
        self.assertIn("quotas.yaml:2:", result.stderr + result.stdout)

    def test_version_and_help(self):
        for arguments in (("version",), ("--version",), ("--help",), ("help",), ("serve", "--help"), ("check", "--help"),
                          ("explain", "--help")):
            result = run(*arguments)
            self.assertEqual(result.returncode, 0, arguments)
            self.assertIn("weir", result.stdout, arguments)

    def test_wrong_words_suggest_the_right_one(self):
        result = run("chekc")
        self.assertEqual(result.returncode, 2)
        self.assertIn("check", result.stderr)
        result = run("check", "--confg", "x")
        self.assertEqual(result.returncode, 2)
        self.assertIn("config", result.stderr)
        self.assertEqual(run().returncode, 2)

    def test_explain(self):
        folder = ConfigFolder(base_settings("127.0.0.1:9"), "limit:\n  caller:\n    default: 5\n    overrides: {A: 7}\n")
        self.addCleanup(folder.remove)
        result = run("explain", "-c", str(folder.main), "--header", "X-Caller-Id: A", "GET", "/x/../y")
        self.assertEqual(result.returncode, 0, result)
        for word in ("/y", "caller", "7", "quotas.yaml:4:"):
            self.assertIn(word, result.stdout)


if __name__ == "__main__":
    unittest.main()
