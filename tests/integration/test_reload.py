# SPDX-License-Identifier: Apache-2.0
"""Reloading: in force within a second, counters kept, no connection dropped, nothing ever opened by a bad file."""
import os
import signal
import threading
import time

from support.case import GatewayCase, who
from support.client import statuses


def caller(limit, window="31d", algorithm="sliding_window"):
    return {"caller": {"default": limit, "window": window, "algorithm": algorithm}}


class CounterContract(GatewayCase):
    def test_a_changed_limit_acts_at_once_and_keeps_what_was_used(self):
        redis = self.redis()
        for algorithm in ("fixed_window", "sliding_window", "sliding_counter", "sliding_log", "token_bucket", "gcra"):
            for store in (None, redis):
                with self.subTest(algorithm=algorithm, redis=store is not None):
                    self.contract(algorithm, store)

    def contract(self, algorithm, store):
        # One by one: what a lease does with a changed limit is lease_test's concern.
        weir = self.weir(self.upstream(), caller(100, "31d", algorithm), store=store, counting="exact",
                         settings={"node": algorithm})
        answers = weir.client.repeat(50, "/", who("A"))
        self.assertEqual(statuses(answers), {200: 50})
        self.assertEqual(answers[-1].number("X-RateLimit-Remaining"), 50)
        weir.reload_limit(caller(20, "31d", algorithm))
        refused = weir.client.get("/", who("A"))
        self.assertEqual((refused.status, refused["X-RateLimit-Limit"], refused["X-RateLimit-Remaining"]),
                         (429, "20", "0"))
        weir.reload_limit(caller(200, "31d", algorithm))
        allowed = weir.client.get("/", who("A"))
        self.assertEqual((allowed.status, allowed["X-RateLimit-Limit"], allowed["X-RateLimit-Remaining"]),
                         (200, "200", "149"))
        weir.reload_limit({"node": {"total": 100000}})
        self.assertEqual(statuses(weir.client.repeat(60, "/", who("A"))), {200: 60})
        weir.reload_limit(caller(200, "31d", algorithm))
        again = weir.client.get("/", who("A"))
        self.assertEqual((again.status, again["X-RateLimit-Remaining"]), (200, "148"), "it counts on where it was")
        weir.stop()

    def test_the_same_policy_again_changes_no_counter(self):
        weir = self.weir(self.upstream(), caller(10))
        weir.client.repeat(6, "/", who("A"))
        weir.reload_limit(caller(10) | {"user": {"default": 500}})
        self.assertEqual(weir.client.get("/", who("A"))["X-RateLimit-Remaining"], "3")

    def test_a_changed_window_starts_anew(self):
        weir = self.weir(self.upstream(), caller(10))
        weir.client.repeat(10, "/", who("A"))
        weir.reload_limit(caller(10, "60s"))
        answer = weir.client.get("/", who("A"))
        self.assertEqual((answer.status, answer["X-RateLimit-Remaining"]), (200, "9"))
        self.assertLessEqual(answer.number("X-RateLimit-Reset") - time.time(), 68)  # a cell more than 60 s


class BadFiles(GatewayCase):
    BAD = {
        "truncated": "limit:\n  caller: {default: 5",
        "unknown key": "limit:\n  caller: {defualt: 5}\n",
        "unknown layer key": "limitt: {}\n",
        "duplicate key": "limit:\n  caller: {default: 5}\n  caller: {default: 6}\n",
        "negative": "limit:\n  caller: {default: -5}\n",
        "zero": "limit:\n  caller: {default: 0}\n",
        "word": "limit:\n  caller: {default: lots}\n",
        "bad window": "limit:\n  caller: {default: 5, window: 60 parsecs}\n",
        "bad algorithm": "limit:\n  caller: {default: 5, algorithm: token_buckets}\n",
        "tab": "limit:\n\tcaller: {default: 5}\n",
        "list": "- 1\n- 2\n",
        "binary": "limit: \x01\x02\n",
        "cyclic alias": "limit: &a\n  caller: *a\n",
    }

    def still_limited(self, weir, generation):
        self.assertEqual(weir.generation(), generation)
        self.assertEqual(weir.admin.get("/readyz").status, 200)
        self.assertEqual(weir.client.get("/", who("A")).status, 429)

    def test_nothing_changes_and_the_reason_is_said(self):
        weir = self.weir(self.upstream(), caller(3))
        weir.client.repeat(3, "/", who("A"))
        generation = weir.generation()
        rejected = 0
        for what, text in self.BAD.items():
            with self.subTest(what):
                weir.folder.write(weir.folder.quotas, text)
                count = lambda: weir.metrics().value("weir_config_reloads_total", result="rejected")
                self.eventually(lambda: count() > rejected, what=f"rejection of {what}")
                rejected = count()
                self.still_limited(weir, generation)
        self.assertTrue(weir.lines("quotas.yaml:2:"), weir.output())
        weir.reload_limit(caller(5))
        self.assertEqual(weir.client.get("/", who("A"))["X-RateLimit-Remaining"], "1")

    def test_missing_empty_folder_and_huge(self):
        weir = self.weir(self.upstream(), caller(3))
        weir.client.repeat(3, "/", who("A"))
        generation, quotas = weir.generation(), weir.folder.quotas
        quotas.unlink()
        time.sleep(1.2)
        self.still_limited(weir, generation)
        quotas.mkdir()
        time.sleep(1.2)
        self.still_limited(weir, generation)
        quotas.rmdir()
        weir.folder.write(quotas, "limit: {}\n" + "# padding\n" * 5_000_000)
        time.sleep(1.5)
        self.still_limited(weir, generation)
        weir.reload_limit(caller(4))
        self.assertEqual(weir.client.get("/", who("A")).status, 200)

    def test_half_written_then_completed(self):
        weir = self.weir(self.upstream(), caller(3))
        generation = weir.generation()
        with open(weir.folder.quotas, "w") as file:
            file.write("limit:\n  caller: {default: 7, wind")
            file.flush()
            time.sleep(1.2)
            self.assertEqual(weir.generation(), generation)
            file.write("ow: 1h}\n")
        self.eventually(lambda: weir.generation() > generation, what="reload of the completed file")
        self.assertEqual(weir.client.get("/", who("A"))["X-RateLimit-Limit"], "7")


class WaysToChange(GatewayCase):
    def test_rename_over(self):
        weir = self.weir(self.upstream(), caller(3))
        before = time.monotonic()
        weir.reload_limit(caller(8))
        self.assertLess(time.monotonic() - before, 2)
        self.assertEqual(weir.client.get("/", who("A"))["X-RateLimit-Limit"], "8")

    def test_written_in_place(self):
        weir = self.weir(self.upstream(), caller(3))
        text = 'limit: {caller: {default: 9, window: 1h}}\n'
        weir.reload(lambda: weir.folder.quotas.write_text(text))
        self.assertEqual(weir.client.get("/", who("A"))["X-RateLimit-Limit"], "9")

    def test_symlink_swap(self):
        """As a mounted Kubernetes ConfigMap changes: quotas.yaml -> ..data/quotas.yaml, and ..data is swapped."""
        weir = self.weir(self.upstream(), caller(3))
        folder = weir.folder.path
        for name, limit in (("v1", 4), ("v2", 6)):
            (folder / name).mkdir()
            (folder / name / "quotas.yaml").write_text(f"limit: {{caller: {{default: {limit}, window: 1h}}}}\n")
        (folder / "..data").symlink_to("v1")

        def to_link():
            (folder / "link").symlink_to("..data/quotas.yaml")
            os.replace(folder / "link", folder / "quotas.yaml")

        def swap():
            (folder / "..data_tmp").symlink_to("v2")
            os.replace(folder / "..data_tmp", folder / "..data")

        for change, limit in ((to_link, "4"), (swap, "6")):
            weir.reload(change)
            self.assertEqual(weir.client.get("/", who("A"))["X-RateLimit-Limit"], limit)

    def test_sighup(self):
        weir = self.weir(self.upstream(), caller(3))
        weir.client.repeat(2, "/", who("A"))
        weir.process.send_signal(signal.SIGHUP)
        self.eventually(lambda: weir.lines("SIGHUP"), what="a line about the reload")
        self.assertEqual(weir.client.get("/", who("A"))["X-RateLimit-Remaining"], "0", "the counter is the same")
        weir.write_limit(caller(30))
        weir.process.send_signal(signal.SIGHUP)
        self.eventually(lambda: weir.client.get("/", who("A"))["X-RateLimit-Limit"] == "30", 2, "the new limit")

    def test_the_main_file_reloads_too(self):
        first, second = self.upstream(), self.upstream()
        weir = self.weir(first, caller(100))
        self.assertEqual(weir.client.get("/", who("A")).status, 200)
        weir.reload_settings({"upstreams": {"default": {"endpoints": [second.address]}}})
        answer = weir.client.get("/", who("A"))
        self.assertEqual((answer["X-RateLimit-Remaining"], first.total, second.total), ("98", 1, 1))


class UnderLoad(GatewayCase):
    def test_a_hundred_reloads_in_ten_seconds(self):
        """No failed request, no counter lost, no connection closed."""
        backend = self.upstream()
        weir = self.weir(backend, caller(1_000_000))
        stop, sent, wrong = threading.Event(), [0] * 4, []

        def load(number):
            with weir.client.connect() as link:
                while not stop.is_set():
                    answer = link.request("GET", "/", who("A", f"u{number}"))
                    sent[number] += 1
                    if answer.status != 200 or answer.get("Connection", "").lower() == "close":
                        wrong.append(answer)

        def guarded(number):
            try:
                load(number)
            except Exception as error:  # a closed connection is what this test looks for
                wrong.append(error)

        threads = [threading.Thread(target=guarded, args=(n,)) for n in range(4)]
        for thread in threads:
            thread.start()
        try:
            before = weir.generation()
            for step in range(100):
                weir.write_limit(caller(1_000_000 + step) | {"user": {"default": 1_000_000}})
                time.sleep(0.08)
        finally:
            stop.set()
            for thread in threads:
                thread.join(10)
        self.assertEqual(wrong, [])
        self.assertGreater(weir.generation(), before)
        self.assertEqual(sum(sent), backend.total)
        weir.write_limit(caller(1_000_500))

        def settled():
            answer = weir.client.get("/", who("A"))
            return answer if answer["X-RateLimit-Limit"] == "1000500" else None

        answer = self.eventually(settled, what="the last of the reloads")
        self.assertEqual(answer.number("X-RateLimit-Remaining"), 1_000_500 - backend.total)


if __name__ == "__main__":
    import unittest
    unittest.main()
