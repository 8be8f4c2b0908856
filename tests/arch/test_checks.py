# SPDX-License-Identifier: Apache-2.0
"""Each check finds a planted breach: a check that never complains guards nothing."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).parent


def run(check, *arguments):
    return subprocess.run([sys.executable, HERE / check, *map(str, arguments)], capture_output=True, text=True)


class Checks(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def test_layers(self):
        self.write("base/a.cpp", '#include <vector>\n#include "base/b.hpp"\n')
        self.write("net/a.cpp", '#include "weir/base/b.hpp"\n')
        self.assertEqual(run("check_layers.py", self.root, "base", "net").returncode, 0)
        for text in ('#include "net/a.hpp"\n', '#include "weir/net/a.hpp"\n', '#include "../net/a.hpp"\n'):
            self.write("base/c.cpp", text)
            self.assertEqual(run("check_layers.py", self.root, "base", "net").returncode, 1, text)

    def test_layers_of_siblings(self):
        self.write("redis/a.cpp", '#include "http/a.hpp"\n')
        self.write("http/a.hpp", "")
        self.assertEqual(run("check_layers.py", self.root, "base", "redis,http").returncode, 1)

    def test_awaits(self):
        good = self.write("good.cpp", "auto f() { auto x = co_await read(std::move(a), 3); co_return; }")
        self.assertEqual(run("check_coawait.py", good).returncode, 0)
        for text in ("co_await read(Options{1});", "co_await read([&] { return 1; });", "x = a ? co_await b() : c;"):
            bad = self.write("bad.cpp", "auto f() { int y; " + text + " }")
            self.assertEqual(run("check_coawait.py", bad).returncode, 1, text)

    def test_text(self):
        head = "// SPDX-License-Identifier: Apache-2.0\n"
        self.write("a.cpp", head + "int network = 1;  // see framework/wor" + "k/x\n")
        self.assertEqual(run("check_text.py", self.root).returncode, 0)
        breaches = ("// TO" + "DO: later", "open(\"/wor" + "k/x\")", "EXPECT_TRUE(tr" + "ue);", "GTEST_SK" + "IP();", "\n" * 400)
        for text in breaches:
            self.write("a.cpp", head + text)
            self.assertEqual(run("check_text.py", self.root).returncode, 1, text)
        self.write("a.cpp", "int x;\n")
        self.assertEqual(run("check_text.py", self.root).returncode, 1)


if __name__ == "__main__":
    unittest.main()
