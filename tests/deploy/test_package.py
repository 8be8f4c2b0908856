# SPDX-License-Identifier: Apache-2.0
"""The Debian package, the units, logrotate, and the configurations that ship with them."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

from support.weir_process import run

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOCKER = ROOT / "docker"
WORST_EXPOSURE = 2.0


def call(*arguments, **more):
    return subprocess.run([str(each) for each in arguments], capture_output=True, text=True, timeout=240, **more)


class Package(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        build = os.environ.get("WEIR_BUILD") or str(ROOT / "build")
        cls.folder = tempfile.mkdtemp(prefix="weir-package-")
        made = call("cpack", "-G", "DEB", "--config", f"{build}/CPackConfig.cmake", "-B", cls.folder)
        assert made.returncode == 0, made.stdout + made.stderr
        cls.package = next(pathlib.Path(cls.folder).glob("weir_*.deb"))

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder, ignore_errors=True)

    def field(self, name):
        return call("dpkg-deb", "--field", self.package, name).stdout.strip()

    def unpack(self):
        place = tempfile.mkdtemp(dir=self.folder)
        self.assertEqual(call("dpkg-deb", "--raw-extract", self.package, place).returncode, 0)
        return pathlib.Path(place)

    def test_contents(self):
        listed = call("dpkg-deb", "--contents", self.package).stdout
        for path in ("usr/bin/weir", "etc/weir/weir.yaml", "etc/weir/quotas.yaml", "etc/logrotate.d/weir",
                     "lib/systemd/system/weir.service", "lib/systemd/system/weir.socket",
                     "usr/share/doc/weir/changelog.gz", "usr/share/doc/weir/copyright",
                     "usr/share/doc/weir/config/README.md", "usr/share/doc/weir/config/HANDBOOK.md", "usr/share/doc/weir/docker/runbook.md", "usr/share/man/man1/weir.1.gz",
                     "usr/share/weir/prometheus/alerts.yml", "usr/share/weir/grafana/dashboards/weir.json"):
            self.assertRegex(listed, rf"root/root .* \./{re.escape(path)}\n")
        self.assertNotRegex(listed, r"\./usr/(include|local|lib/lib)")

    def test_it_depends_on_what_the_binary_links(self):
        depends = self.field("Depends")
        for library in ("libc6", "libssl3", "libhiredis", "libyaml-cpp", "adduser"):
            self.assertIn(library, depends)

    def test_configuration_survives_an_upgrade(self):
        tree = self.unpack()
        listed = set((tree / "DEBIAN/conffiles").read_text().split())
        shipped = {f"/{path.relative_to(tree)}" for path in (tree / "etc").rglob("*") if path.is_file()}
        self.assertEqual(listed, shipped)

    def test_maintainer_scripts_are_sound(self):
        for name in ("postinst", "prerm", "postrm"):
            script = self.unpack() / "DEBIAN" / name
            self.assertEqual(call("sh", "-n", script).returncode, 0, name)
            self.assertTrue(os.access(script, os.X_OK), name)
            self.assertIn("set -e", script.read_text())

    def test_the_configuration_it_ships_is_good(self):
        tree = self.unpack()
        checked = run("check", "-c", str(tree / "etc/weir/weir.yaml"))
        self.assertEqual(checked.returncode, 0, checked.stdout + checked.stderr)


class Units(unittest.TestCase):
    def test_exposure(self):
        seen = call("systemd-analyze", "security", "--offline=true", f"--threshold={int(WORST_EXPOSURE * 10)}",
                    DOCKER / "systemd/weir.service")
        self.assertEqual(seen.returncode, 0, seen.stdout[-400:] + seen.stderr)

    def test_keys_are_known(self):
        with tempfile.TemporaryDirectory() as folder:
            for unit in ("weir.service", "weir.socket"):
                text = (DOCKER / "systemd" / unit).read_text().replace("/usr/bin/weir", "/bin/true")
                (pathlib.Path(folder) / unit).write_text(text.replace("file:///usr/share/doc/weir/README.md", "man:true(1)"))
            seen = call("systemd-analyze", "verify", "--man=no", f"{folder}/weir.service", f"{folder}/weir.socket")
        about_us = [line for line in seen.stderr.splitlines() if "weir." in line]
        self.assertEqual(about_us, [])

    def test_logrotate_reads_its_file(self):
        with tempfile.TemporaryDirectory() as folder:
            # The account and group of the package are not here.
            text = re.sub(r"su weir adm\n|create 0640 weir adm\n", "", (DOCKER / "logrotate/weir").read_text())
            path = pathlib.Path(folder) / "weir"
            path.write_text(text.replace("/var/log/weir", folder))
            os.chmod(path, 0o644)
            seen = call("logrotate", "--debug", path)
        self.assertEqual(seen.returncode, 0, seen.stderr)
        self.assertNotIn("error", seen.stderr.lower())


class Configurations(unittest.TestCase):
    def check(self, main, quotas):
        """A container's configuration, with its token where this machine has one."""
        with tempfile.TemporaryDirectory() as folder:
            place = pathlib.Path(folder)
            (place / "token").write_text("a-token-of-the-test\n")
            (place / "weir.yaml").write_text(re.sub(r"/run/secrets/\S+?(?=[,}])", f"{folder}/token", main))
            (place / "quotas.yaml").write_text(quotas)
            checked = run("check", "-c", str(place / "weir.yaml"))
        self.assertEqual(checked.returncode, 0, checked.stdout + checked.stderr)

    def test_compose(self):
        folder = DOCKER / "config/compose"
        self.check((folder / "weir.yaml").read_text(), (folder / "quotas.yaml").read_text())

    def test_kubernetes(self):
        text = (DOCKER / "kubernetes/weir.yaml").read_text()
        blocks = {name: re.sub(r"^    ", "", body, flags=re.M)
                  for name, body in re.findall(r"^  (\w+\.yaml): \|\n((?:    .*\n)+)", text, re.M)}
        self.check(blocks["weir.yaml"], blocks["quotas.yaml"])

    def test_the_dashboard_is_whole(self):
        board = json.loads((DOCKER / "grafana/dashboards/weir.json").read_text())
        panels = board["panels"]
        self.assertEqual(len({panel["id"] for panel in panels}), len(panels))
        places = [(x, y) for panel in panels for grid in [panel["gridPos"]]
                  for x in range(grid["x"], grid["x"] + grid["w"]) for y in range(grid["y"], grid["y"] + grid["h"])]
        self.assertEqual(len(places), len(set(places)), "panels overlap")
        self.assertLessEqual(max(x for x, _ in places), 23)
        for panel in panels:
            self.assertTrue(panel["type"] == "row" or panel["description"], panel["title"])


if __name__ == "__main__":
    unittest.main()
