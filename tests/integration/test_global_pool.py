# SPDX-License-Identifier: Apache-2.0
"""One limit over two regions (`scope: global`): each region has a Redis of its own, and both lease from a parent.
Never over the limit in sum; spent on through a cut; a dead region's lease is there again when its time is over; the
gateways of a region lease as one."""
import json
import threading
import time

from support.case import GatewayCase, who
from support.weir_process import run


class Stream(threading.Thread):
    """Requests over one connection of `weir`, until stopped; counts what was let through, by time."""

    def __init__(self, weir, per_second, user="u"):
        super().__init__(daemon=True)
        self.weir, self.gap, self.user, self.allowed, self.statuses = weir, 1 / per_second, user, [], set()
        self.stopped = threading.Event()
        self.start()

    def run(self):
        due = time.monotonic()
        with self.weir.client.connect() as link:
            while not self.stopped.is_set():
                due = max(due + self.gap, time.monotonic() - 0.2)
                time.sleep(max(0, due - time.monotonic()))
                try:
                    status = link.request("GET", "/", who("c", self.user)).status
                except Exception:
                    return  # the gateway was killed
                self.statuses.add(status)
                if status == 200:
                    self.allowed.append(time.monotonic())


class GlobalCase(GatewayCase):
    def setUp(self):
        self.backend = self.upstream()
        self.parent = self.redis()

    def region(self, limit, parent=None, gateways=1, **more):
        """A Redis of its own, and gateways on it."""
        own = self.redis()
        store = {"kind": "redis", "url": own.url, "timeout": "3s", "counting": "auto",
                 "parent": {"url": (parent or self.parent).url, "timeout": "2s", "ttl": "2s", "permits": 200, **more}}
        weirs = [self.weir(self.backend, limit, settings={"store": store}) for _ in range(gateways)]
        for weir in weirs:
            weir.wait_store()
            self.eventually(lambda: weir.status()["store"]["parent_workers_connected"] == 2, 10, "the parent")
        return own, weirs

    def drive(self, weirs, per_second, seconds, user="u"):
        streams = [Stream(weir, per_second, user) for weir in weirs]
        time.sleep(seconds)
        return self.end(streams)

    @staticmethod
    def end(streams):
        for stream in streams:
            stream.stopped.set()
        for stream in streams:
            stream.join(15)
        return streams


class Regions(GlobalCase):
    def test_the_sum_is_exact_and_few_requests_ask_the_parent(self):
        limit = {"caller": {"default": 600, "window": "31d", "algorithm": "fixed_window", "scope": "global"},
                 "user": {"default": 100000, "window": "31d"}}
        (_, first), (_, second) = self.region(limit), self.region(limit)
        streams = self.drive(first + second, 150, 4)
        self.eventually(lambda: self.drive(first + second, 60, 1)[0].statuses == {429}, 20, "the limit is used up")
        total = sum(weir.metrics().value("weir_requests_total", outcome="allowed") for weir in first + second)
        self.assertEqual(total, 600, "neither over nor under")
        self.assertEqual(set().union(*(stream.statuses for stream in streams)) - {200, 429}, set())
        calls = self.parent.calls_of("evalsha") + self.parent.calls_of("eval")
        asked = sum(weir.metrics().value("weir_requests_total") for weir in first + second)
        self.assertLess(calls, asked / 3, "heartbeats among them")
        # Where each layer is counted is said, and done.
        self.assertTrue(any("c=c" in key for key in self.parent.keys()))
        scopes = {layer["layer"]: layer["default"]["scope"] for layer in first[0].admin.get("/live").json()["chain"]}
        self.assertEqual(scopes, {"caller": "global", "user": "fleet"})

    def test_who_is_over_in_its_region_drains_no_other(self):
        limit = {"caller": {"default": 100000, "window": "31d", "algorithm": "fixed_window", "scope": "global"},
                 "user": {"default": 20, "window": "31d", "algorithm": "fixed_window"}}
        _, weirs = self.region(limit)
        self.drive(weirs, 150, 2)
        self.assertEqual(weirs[0].stop(), 0)  # gives back what it holds
        used = [self.parent.state(key)[0] for key in self.parent.keys() if "c=c" in key]
        self.assertEqual(used, [20], "only what passed is charged")

    def test_a_cut_is_bridged_and_what_was_used_is_reported(self):
        limit = {"caller": {"default": 100000, "window": "31d", "algorithm": "fixed_window", "scope": "global"},
                 "user": {"default": 100000, "window": "31d"}}
        _, weirs = self.region(limit, ttl="10s", permits=2000)
        streams = [Stream(weirs[0], 100)]
        self.eventually(lambda: weirs[0].metrics().value("weir_parent_permits_held") > 100, 15, "a lease")
        self.parent.pause()
        before, ladder = len(streams[0].allowed), weirs[0].metrics().value("weir_store_local_verdicts_total")
        time.sleep(1.5)
        through = len(streams[0].allowed) - before
        self.assertGreater(through, 30, "it went on")
        self.assertEqual(weirs[0].metrics().value("weir_store_local_verdicts_total"), ladder)
        self.parent.resume()
        self.end(streams)
        self.assertEqual(streams[0].statuses, {200})
        self.assertEqual(weirs[0].stop(), 0)
        allowed = len(streams[0].allowed)
        used = [self.parent.state(key)[0] for key in self.parent.keys() if "c=c" in key]
        self.assertEqual(len(used), 1)
        # A drain gives back what is held; a call that was broken off by the pause may have lost its lease.
        self.assertGreaterEqual(used[0], allowed - 5)

    def test_a_reload_changes_the_limit_and_nothing_else(self):
        """The gateways go on fetching and spending after a configuration was replaced, by the limit of the new one."""
        limit = lambda permits: {"caller": {"default": permits, "window": "31d", "algorithm": "fixed_window",
                                            "scope": "global"},
                                 "user": {"default": 100000, "window": "31d"}}
        _, weirs = self.region(limit(300), gateways=2)
        self.drive(weirs, 100, 1)
        for weir in weirs:
            weir.reload_limit(limit(500))
        streams = self.drive(weirs, 150, 4)
        self.eventually(lambda: self.drive(weirs, 60, 1)[0].statuses == {429}, 20, "the limit is used up")
        total = sum(weir.metrics().value("weir_requests_total", outcome="allowed") for weir in weirs)
        self.assertEqual(total, 500, "neither over nor under")
        self.assertEqual(set().union(*(stream.statuses for stream in streams)) - {200, 429}, set())

    def test_a_dead_regions_lease_returns(self):
        """A bucket: what a region holds when it dies keeps the bucket below its burst until the lease is over."""
        limit = {"caller": {"default": 60000, "window": "1h", "burst": 400, "algorithm": "token_bucket",
                            "scope": "global"}}
        (own, dying), (_, living) = self.region(limit, ttl="5s"), self.region(limit, ttl="5s")
        began = time.monotonic()
        streams = [Stream(dying[0], 60)]
        self.eventually(lambda: dying[0].metrics().value("weir_parent_permits_held") >= 20, 15, "a lease")
        dying[0].kill()
        own.kill()
        self.end(streams)
        spent = len(streams[0].allowed)
        state = lambda: next(self.parent.state(key) for key in self.parent.keys() if "c=c" in key)
        lent = sum(state()[4:6])
        self.assertGreaterEqual(lent, 20, state())
        remaining = lambda: living[0].client.get("/", who("c", "u")).number("X-RateLimit-Remaining")
        self.assertLessEqual(remaining(), 400 - lent, "what is lent may still be spent over there")
        # It lasts for one ttl, or two: leases are told apart by the ttl in which they were taken.
        time.sleep(10.5)
        self.assertGreaterEqual(remaining(), 398, "all of the burst is there again")
        self.assertEqual(len(state()), 4, f"{state()}: nothing is lent any more")
        streams = self.drive(living, 200, 4)
        total = spent + living[0].metrics().value("weir_requests_total", outcome="allowed")
        most = 400 + (time.monotonic() - began) * 60000 / 3600
        self.assertLessEqual(total, most + 1)
        self.assertEqual(streams[0].statuses - {200, 429}, set())


class OneRegion(GlobalCase):
    """The gateways of a region lease as one."""

    WIDE = {"caller": {"default": 1_000_000, "window": "31d", "algorithm": "fixed_window", "scope": "global"}}

    def calls(self):
        """Of the parent's counters: one beat is one ZADD."""
        return self.parent.calls_of("evalsha") + self.parent.calls_of("eval") - self.parent.calls_of("zadd")

    def used(self):
        return [self.parent.state(key)[0] for key in self.parent.keys() if "c=c" in key]

    def held(self, weir):
        return weir.metrics().value("weir_parent_permits_held")

    def fetched(self, weir):
        return weir.metrics().value("weir_parent_leases_total")

    def test_three_gateways_are_as_much_work_for_the_parent_as_one(self):
        spent = []
        for gateways in (1, 3):
            _, weirs = self.region(self.WIDE, gateways=gateways, ttl="10s", permits=1000)
            before = self.calls()
            streams = self.drive(weirs, 60, 5)
            spent.append(self.calls() - before)
            allowed = sum(len(stream.allowed) for stream in streams)
            self.assertGreater(allowed, 100 * gateways)
            for weir in weirs:
                self.assertEqual(weir.stop(), 0)
            # The last to leave takes along what the region holds.
            self.assertEqual(self.used(), [allowed])
            self.parent.flush()
        # Until it is known how often a key is asked for, each request is a call: at most 20 or so.
        self.assertLess(spent[0], 45, spent)
        self.assertLess(spent[1], 60, f"{spent}: each by itself would be three times as many")

    def test_a_key_that_each_sees_seldom_is_no_call_a_request(self):
        _, weirs = self.region(self.WIDE, gateways=3, ttl="10s", permits=1000)
        self.drive(weirs, 2, 4)
        before = self.calls()
        streams = self.drive(weirs, 2, 8)
        asked = sum(len(stream.allowed) for stream in streams)
        self.assertGreater(asked, 30)
        self.assertLess(self.calls() - before, asked / 4)

    def test_who_comes_during_a_cut_spends_what_the_region_holds(self):
        own, weirs = self.region(self.WIDE, gateways=2, ttl="20s", permits=2000)
        streams = [Stream(weir, 60) for weir in weirs]
        self.eventually(lambda: self.held(weirs[0]) > 500, 15, "a batch")
        self.end(streams)
        self.parent.pause()
        self.addCleanup(self.parent.resume)
        settings = {"store": weirs[0].settings["store"]}
        anew = self.weir(self.backend, self.WIDE, settings=settings)
        anew.wait_store()
        stream = self.drive([anew], 60, 2)[0]
        self.assertGreater(len(stream.allowed), 40)
        self.assertEqual(stream.statuses, {200})
        self.assertEqual(anew.metrics().value("weir_parent_pool_layers_total", decided="parent"), 0)
        self.parent.resume()

    def test_a_fetcher_that_is_killed_is_replaced(self):
        _, weirs = self.region(self.WIDE, gateways=2, ttl="1s", permits=100, timeout="500ms")
        streams = [Stream(weir, 60) for weir in weirs]
        self.eventually(lambda: self.fetched(weirs[0]) > 0, 15, "the first fetches")
        weirs[0].kill()
        before = self.fetched(weirs[1])
        self.eventually(lambda: self.fetched(weirs[1]) > before, 10, "the other goes on")
        self.end(streams)
        self.assertEqual(streams[1].statuses, {200})

    def test_a_reset_empties_what_the_region_holds(self):
        own, weirs = self.region(self.WIDE, ttl="20s", permits=2000)
        self.drive(weirs, 100, 2)
        self.assertTrue([key for key in own.keys() if key.endswith(":pool")])
        found = weirs[0].admin.get("/counters?layer=caller&key=caller:c").json()
        self.assertGreater(found["used"], 300, "what the region holds is used, for the parent")
        shown = run("explain", "-c", str(weirs[0].folder.main), "--json", "--header", "X-Caller-Id: c", "GET", "/")
        self.assertIn(f'"used":{found["used"]}', shown.stdout.replace(" ", ""))
        body = json.dumps({"layer": "caller", "key": {"caller": "c"}, "confirm": found["confirm"]})
        done = weirs[0].admin.post("/counters/reset", {"Content-Type": "application/json"}, body)
        self.assertEqual(done.status, 200, done.body)
        self.assertEqual([key for key in own.keys() if key.endswith(":pool")], [])
        self.assertEqual(self.used(), [0])

    def test_a_cluster_holds_each_layers_permits_where_its_slot_is(self):
        own = self.redis_cluster()
        limit = {"caller": {"default": 400, "window": "31d", "algorithm": "fixed_window", "scope": "global"},
                 "api": {"default": 1_000_000, "window": "31d", "algorithm": "fixed_window", "scope": "global"}}
        store = {"kind": "redis", "url": own.urls, "timeout": "3s",
                 "parent": {"url": self.parent.url, "timeout": "2s", "ttl": "5s", "permits": 200}}
        weirs = [self.weir(self.backend, limit, settings={"store": store}) for _ in range(2)]
        for weir in weirs:
            weir.wait_store()
            self.eventually(lambda: weir.status()["store"]["parent_workers_connected"] == 2, 10, "the parent")
        self.drive(weirs, 120, 3)
        self.eventually(lambda: self.drive(weirs, 60, 1)[0].statuses == {429}, 20, "the limit is used up")
        total = sum(weir.metrics().value("weir_requests_total", outcome="allowed") for weir in weirs)
        self.assertEqual(total, 400)
        self.assertGreater(sum(self.fetched(weir) for weir in weirs), 0)
        self.assertEqual(sum(weir.metrics().value("weir_parent_pool_failures_total") for weir in weirs), 0)

    def test_a_fail_over_in_the_region_spends_nothing_twice(self):
        deployment = self.redis_sentinels()
        limit = {"caller": {"default": 2500, "window": "31d", "algorithm": "fixed_window", "scope": "global"}}
        store = {"kind": "redis", "url": f"redis://{deployment.name}/0", "timeout": "200ms",
                 "sentinel": {"addresses": deployment.addresses},
                 "parent": {"url": self.parent.url, "timeout": "2s", "ttl": "10s", "permits": 400}}
        weirs = [self.weir(self.backend, limit, settings={"store": store}) for _ in range(2)]
        for weir in weirs:
            weir.wait_store(15)
            self.eventually(lambda: weir.status()["store"]["parent_workers_connected"] == 2, 10, "the parent")
        streams = [Stream(weir, 60) for weir in weirs]
        self.eventually(lambda: self.held(weirs[0]) > 100, 15, "a batch")
        deployment.primary.kill()
        self.eventually(lambda: deployment.current() == deployment.replicas[0].port, 30, "a fail-over")
        deployment.replicas[0].reconnect()
        before = sum(self.fetched(weir) for weir in weirs)
        self.eventually(lambda: sum(self.fetched(weir) for weir in weirs) > before, 15, "the region leases again")
        self.end(streams)
        self.eventually(lambda: self.drive(weirs, 150, 1)[0].statuses == {429}, 30, "the limit is used up")
        total = sum(weir.metrics().value("weir_requests_total", outcome="allowed") for weir in weirs)
        self.assertLessEqual(total, 2500)
        self.assertGreater(total, 1000, "what was held is lost, not more")
        self.assertEqual(set().union(*(stream.statuses for stream in streams)) - {200, 429}, set())


class Wrong(GatewayCase):
    def test_what_cannot_be_global_is_said(self):
        weir = self.weir(self.upstream(), {"caller": {"default": 5}})
        weir.write_limit({"caller": {"default": 5, "scope": "global"}})
        found = run("check", "-c", str(weir.folder.main)).stdout
        self.assertIn("limit.caller.scope: global needs the store of all regions: store.parent", found)
        weir.settings["store"] = {"kind": "redis", "url": "redis://127.0.0.1:1", "parent": {"url": "redis://127.0.0.1:2"}}
        weir.folder.write(weir.folder.main, weir.settings)
        weir.write_limit({"caller": {"default": 5, "scope": "global", "algorithm": "sliding_log"}})
        found = run("check", "-c", str(weir.folder.main)).stdout
        self.assertIn("is counted permit by permit (sliding_log)", found)


if __name__ == "__main__":
    import unittest
    unittest.main()
