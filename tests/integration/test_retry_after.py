# SPDX-License-Identifier: Apache-2.0
"""Retry-After is honest for every algorithm: too early is refused, on time a lone client passes. Every
rate-limit field is well formed and says the same."""
import time
from concurrent.futures import ThreadPoolExecutor

from support.case import GatewayCase, who
from support.structured_fields import parse_list
from support.upstream import Answer

ALGORITHMS = ("fixed_window", "sliding_window", "sliding_counter", "sliding_log", "token_bucket", "gcra",
              "leaky_bucket")


def check_fields(case, answer, layer="user"):
    """The IETF pair and the older triple of one answer, against each other and against Retry-After."""
    policies = {item.value: item.parameters for item in parse_list(answer["RateLimit-Policy"])}
    limits = {item.value: item.parameters for item in parse_list(answer["RateLimit"])}
    case.assertEqual(set(policies), set(limits), answer)
    case.assertIn(layer, policies)
    for name, parameters in limits.items():
        case.assertIsInstance(policies[name]["q"], int)
        case.assertTrue(0 <= parameters["r"] <= policies[name]["q"], answer)
        if "t" in parameters:
            case.assertTrue(0 <= parameters["t"] <= 2 * policies[name]["w"], answer)
    case.assertEqual(answer.number("X-RateLimit-Limit"), policies[layer]["q"])
    case.assertTrue(0 <= answer.number("X-RateLimit-Remaining") <= answer.number("X-RateLimit-Limit"), answer)
    left = answer.number("X-RateLimit-Reset") - time.time()
    case.assertTrue(-1.5 <= left <= 2 * policies[layer]["w"] + 1.5, answer)
    if answer.status == 429:
        case.assertEqual(limits[layer]["r"], 0)
        case.assertGreaterEqual(limits[layer]["t"], 1)
        case.assertGreaterEqual(answer.number("Retry-After"), limits[layer]["t"])
        case.assertEqual(answer.number("X-RateLimit-Remaining"), 0)


class RetryAfter(GatewayCase):
    def limit(self, algorithm, permits, window):
        terms = {"default": permits, "window": window, "algorithm": algorithm}
        if algorithm == "leaky_bucket":
            terms |= {"burst": permits, "max_wait": "100ms"}
        return {"user": terms}

    def honest(self, weir):
        """Exhausts, waits as told, and reports what was wrong ('' if nothing)."""
        before = time.monotonic()
        answers = weir.client.repeat(3, "/", who("A", "u"))
        refused, at = answers[-1], time.monotonic()
        if [a.status for a in answers] != [200, 200, 429]:
            return f"statuses {[a.status for a in answers]} in {at - before:.3f} s"
        seconds = refused.number("Retry-After")
        check_fields(self, refused)
        check_fields(self, answers[0])
        if seconds > 1:
            time.sleep(max(0, at + seconds - 1.2 - time.monotonic()))
            early = weir.client.get("/", who("A", "u"))
            if early.status != 429 and time.monotonic() < before + seconds - 1:
                return f"let in {time.monotonic() - at:.2f} s after a Retry-After of {seconds}"
        time.sleep(max(0, at + seconds + 0.02 - time.monotonic()))
        late = weir.client.get("/", who("A", "u"))
        return "" if late.status == 200 else f"refused after waiting {seconds} s: {late}"

    def test_each_algorithm(self):
        backend, redis = self.upstream(), self.redis()
        for store in (None, redis):
            weirs = {}
            for algorithm in ALGORITHMS:
                settings = {"node": f"node-{algorithm}", "workers": 1}
                if store is not None:
                    settings["store"] = {"kind": "redis", "url": store.url, "timeout": "3s"}
                weirs[algorithm] = self.weir(backend, self.limit(algorithm, 2, "4s"), settings=settings)
            time.sleep(0.05)
            with ThreadPoolExecutor(len(weirs)) as pool:
                verdicts = dict(zip(weirs, pool.map(self.honest, weirs.values())))
            # A fixed window may end between the second and the third request: try that one again.
            if verdicts["fixed_window"].startswith("statuses"):
                time.sleep(4.1)
                verdicts["fixed_window"] = self.honest(weirs["fixed_window"])
            self.assertEqual(verdicts, {algorithm: "" for algorithm in ALGORITHMS})
            for weir in weirs.values():
                weir.stop()

    def test_concurrency_says_one_second(self):
        backend = self.upstream(lambda seen: Answer(delay=0.6))
        weir = self.weir(backend, {"user": {"default": 1, "algorithm": "concurrency"}})
        answers = self.at_once(weir, 5, "/", who("A", "u"))
        self.assert_statuses(answers, s200=1, s429=4)
        for answer in answers:
            parse_list(answer.get("RateLimit", ""))
            parse_list(answer.get("RateLimit-Policy", ""))
            if answer.status == 429:
                self.assertEqual(answer["Retry-After"], "1")

    def test_the_longest_wait_wins(self):
        """Two refuse: the first in chain order is the hit, the wait is the longer one; no staircase."""
        limit = {"caller": {"default": 1, "window": "3s", "algorithm": "sliding_log"},
                 "user": {"default": 1, "window": "60s", "algorithm": "sliding_log"}}
        weir = self.weir(self.upstream(), limit)
        answers = weir.client.repeat(2, "/", who("A", "u"))
        self.assertEqual([a.status for a in answers], [200, 429])
        refused = answers[1]
        self.assertTrue(55 <= refused.number("Retry-After") <= 60, refused)
        self.assertEqual(refused.json()["violated-policies"], ["caller", "user"])
        names = [item.value for item in parse_list(refused["RateLimit"])]
        self.assertEqual(names, ["caller", "user"])

    def test_a_refusal_does_not_extend_itself(self):
        weir = self.weir(self.upstream(), self.limit("sliding_log", 1, "2s"))
        at = time.monotonic()
        self.assertEqual(weir.client.get("/", who("A", "u")).status, 200)
        tries = 0
        while weir.client.get("/", who("A", "u")).status == 429:
            tries += 1
            self.assertLess(time.monotonic() - at, 6)
            time.sleep(0.05)
        self.assertGreater(tries, 5)
        self.assertGreater(time.monotonic() - at, 1.9)
        self.assertLess(time.monotonic() - at, 3.5)

    def test_remaining_only_falls_while_no_time_passes(self):
        for algorithm in ALGORITHMS:
            weir = self.weir(self.upstream(), self.limit(algorithm, 7, "31d"), settings={"workers": 1})
            answers = weir.client.repeat(10, "/", who("A", "u"))
            remaining = [a.number("X-RateLimit-Remaining") for a in answers]
            self.assertEqual(remaining, [6, 5, 4, 3, 2, 1, 0, 0, 0, 0], algorithm)
            for answer in answers:
                check_fields(self, answer)
            weir.stop()


if __name__ == "__main__":
    import unittest
    unittest.main()
