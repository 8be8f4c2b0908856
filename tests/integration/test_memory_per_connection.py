# SPDX-License-Identifier: Apache-2.0
"""What an idle connection costs the gateway: user memory (RSS, without what the kernel holds for its sockets)."""
import unittest

from support.case import GatewayCase
from support.weir_process import sanitized

COUNT = 2000


@unittest.skipIf(sanitized(), "a sanitizer's own memory would be measured")
class IdleConnections(GatewayCase):
    def idle(self, weir, count):
        links = []
        for _ in range(count):
            link = weir.client.connect()
            self.addCleanup(link.close)
            link.request("GET", "/")
            links.append(link)
        return links

    def test_at_most_two_kibibytes_each(self):
        weir = self.weir(self.upstream(), settings={"workers": 1, "log": {"access": "off"}})
        self.idle(weir, 50)  # what is needed once
        before = weir.rss()
        self.idle(weir, COUNT)
        each = (weir.rss() - before) / COUNT
        print(f"an idle connection: {each:.0f} bytes of user memory")
        self.assertLess(each, 2048)


if __name__ == "__main__":
    unittest.main()
