# SPDX-License-Identifier: Apache-2.0
"""A primary that three Sentinels watch: it is found, and found again after a fail-over."""
import time

from support.case import GatewayCase, who
from support.client import statuses
from support.resp import RedisClient

LIMIT = {"user": {"default": 100, "window": "31d"}}


class Sentinel(GatewayCase):
    def gateway(self, deployment):
        store = {"kind": "redis", "url": f"redis://{deployment.name}/0", "timeout": "200ms",
                 "sentinel": {"addresses": deployment.addresses}}
        weir = self.weir(self.upstream(), LIMIT, settings={"store": store})
        weir.wait_store(15)
        return weir

    def healthy(self, weir, server):
        """Counted in `server` again, soon after all Sentinels name it: a connection is tried once a second, and probed
        as soon as it is there."""
        server.reconnect()

        def check():
            name = f"probe{time.monotonic_ns()}"
            weir.client.get("/", who("A", name))
            return any(name in key for key in server.keys())
        self.eventually(check, 6, "counting in the new primary")

    def test_the_primary_is_found_and_fails_over(self):
        deployment = self.redis_sentinels()
        weir = self.gateway(deployment)
        self.assertEqual(weir.client.get("/", who("A", "u")).number("X-RateLimit-Remaining"), 99)
        self.assertTrue(deployment.primary.keys())
        deployment.primary.pause()
        answers, end = [], time.monotonic() + 20
        while deployment.current() != deployment.replicas[0].port and time.monotonic() < end:
            answers.append(weir.client.get("/", who("A", "u2")))
        self.assertEqual([code for code in statuses(answers) if code >= 500], [])
        self.healthy(weir, deployment.replicas[0])
        # The old primary comes back, believes itself one for a moment, and is not asked again.
        deployment.primary.resume()
        self.healthy(weir, deployment.replicas[0])

    def test_a_primary_that_was_made_a_replica_is_left(self):
        deployment = self.redis_sentinels()
        weir = self.gateway(deployment)
        weir.client.get("/", who("A", "u"))
        client = RedisClient(deployment.sentinels[0][0])
        client.call("SENTINEL", "FAILOVER", deployment.name)
        self.eventually(lambda: deployment.current() == deployment.replicas[0].port, 30, "a fail-over")
        answers = weir.client.repeat(20, "/", who("A", "u3"))
        self.assertEqual(statuses(answers), {200: 20})
        self.healthy(weir, deployment.replicas[0])
        client.close()


if __name__ == "__main__":
    import unittest
    unittest.main()
