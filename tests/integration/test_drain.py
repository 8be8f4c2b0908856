# SPDX-License-Identifier: Apache-2.0
"""SIGTERM under load: every request that the gateway had accepted is answered."""
import signal
import threading
import time
import unittest

from support.case import GatewayCase
from support.client import Closed
from support.upstream import Answer


class Caller(threading.Thread):
    """Asks over one kept connection until the gateway says that it closes."""

    def __init__(self, client, target):
        super().__init__()
        self.client, self.target = client, target
        self.statuses, self.lost, self.said_close = [], None, False
        self.start()

    def run(self):
        try:
            with self.client.connect() as link:
                while not self.said_close:
                    answer = link.request("GET", self.target)
                    self.statuses.append(answer.status)
                    self.said_close = answer.get("Connection", "").lower() == "close"
        except (OSError, Closed) as error:
            self.lost = error


class Drain(GatewayCase):
    def test_no_accepted_request_is_lost(self):
        backend = self.upstream(
            lambda seen: Answer(delay=1.0) if seen.target == "/slow" else
            Answer(chunks=[b"x" * 1000] * 20, chunk_delay=0.1) if seen.target == "/stream" else Answer(delay=0.01))
        weir = self.weir(backend)
        callers = [Caller(weir.client, target) for target in ["/"] * 16 + ["/slow"] * 4 + ["/stream"] * 4]
        self.eventually(lambda: all(caller.statuses for caller in callers), 20, "an answer for everyone")
        time.sleep(0.3)
        weir.process.send_signal(signal.SIGTERM)
        for caller in callers:
            caller.join(30)
        self.assertEqual(weir.process.wait(15), 0)
        self.assertEqual([caller.lost for caller in callers if caller.lost], [])
        self.assertTrue(all(caller.said_close for caller in callers))
        answered = sum(len(caller.statuses) for caller in callers)
        self.assertEqual({status for caller in callers for status in caller.statuses}, {200})
        self.assertEqual(answered, backend.total, "every request that went upstream was answered, none twice")

    def test_an_answer_that_had_begun_promised_the_next_one(self):
        """Its head left before the signal and says nothing of a close, its end comes when the drain is older than what
        an idle connection is given: the next request, a moment later, is answered all the same."""
        backend = self.upstream(
            lambda seen: Answer(chunks=[b"x"] * 20, chunk_delay=0.1) if seen.target == "/stream" else Answer())
        weir = self.weir(backend)
        with weir.client.connect() as link:
            threading.Timer(0.3, lambda: weir.process.send_signal(signal.SIGTERM)).start()
            streamed = link.request("GET", "/stream")
            self.assertEqual((streamed.status, streamed.get("Connection", "")), (200, ""))
            time.sleep(0.3)
            last = link.request("GET", "/")
            self.assertEqual((last.status, last.get("Connection", "").lower()), (200, "close"))
        self.assertEqual(weir.process.wait(15), 0)


if __name__ == "__main__":
    unittest.main()
