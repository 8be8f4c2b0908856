# SPDX-License-Identifier: Apache-2.0
"""The compose file as docker-compose reads it, and the Kubernetes manifest by its own references: what one object names
has to exist in another. (Debian has no validator of Kubernetes' schemas.)"""
import os
import pathlib
import re
import subprocess
import unittest

import yaml

DOCKER = pathlib.Path(__file__).resolve().parents[2] / "docker"
USER = 65532  # of the image


def seconds(text):
    return int(re.fullmatch(r"(\d+)s", text)[1])


class Compose(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        seen = subprocess.run(["docker-compose", "-f", str(DOCKER / "compose.yaml"), "config"], capture_output=True, text=True,
                              timeout=60, env={**os.environ, "GRAFANA_PASSWORD": "x"})
        assert seen.returncode == 0, seen.stderr
        cls.services = yaml.safe_load(seen.stdout)["services"]

    def test_a_password_has_to_be_chosen(self):
        bare = {name: value for name, value in os.environ.items() if name != "GRAFANA_PASSWORD"}
        seen = subprocess.run(["docker-compose", "-f", str(DOCKER / "compose.yaml"), "config", "-q"], capture_output=True, text=True,
                              timeout=60, env=bare)
        self.assertNotEqual(seen.returncode, 0)
        self.assertIn("set a password", seen.stderr)

    def test_what_is_mounted_is_there(self):
        for name, service in self.services.items():
            for volume in service.get("volumes", []):
                source = volume.split(":")[0]
                if source.startswith("/"):
                    self.assertTrue(pathlib.Path(source).is_dir(), f"{name}: {source}")

    def test_nothing_is_reachable_from_outside_by_default(self):
        published = [port for service in self.services.values() for port in service.get("ports", [])]
        self.assertTrue(published)
        self.assertTrue(all(port.startswith("127.0.0.1:") for port in published), published)

    def test_configurations_name_the_services(self):
        main = yaml.safe_load((DOCKER / "config/compose/weir.yaml").read_text())
        hosts = {re.sub(r"^\w+://", "", address).split(":")[0]
                 for address in [main["store"]["url"], *main["upstreams"]["default"]["endpoints"]]}
        scraped = yaml.safe_load((DOCKER / "prometheus/prometheus.yml").read_text())["scrape_configs"][0]["static_configs"][0]["targets"]
        hosts |= {target.split(":")[0] for target in scraped}
        data = yaml.safe_load((DOCKER / "grafana/provisioning/datasources/prometheus.yaml").read_text())["datasources"][0]
        hosts.add(re.sub(r"^\w+://", "", data["url"]).split(":")[0])
        self.assertLessEqual(hosts, set(self.services))

    def test_gateways_have_no_more_rights_than_they_need(self):
        for name in ("weir-1", "weir-2"):
            service = self.services[name]
            self.assertEqual((service["read_only"], service["cap_drop"], service["security_opt"]),
                             (True, ["ALL"], ["no-new-privileges:true"]))
        self.assertIn(f"USER {USER}:{USER}\n", (DOCKER / "Dockerfile").read_text())


class Kubernetes(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        documents = list(yaml.safe_load_all((DOCKER / "kubernetes/weir.yaml").read_text()))
        cls.objects = {(each["kind"], each["metadata"]["name"]): each for each in documents}
        assert len(cls.objects) == len(documents), "two objects of one name"
        cls.pod = cls.objects["Deployment", "weir"]["spec"]["template"]
        cls.container, = cls.pod["spec"]["containers"]
        cls.main = yaml.safe_load(cls.objects["ConfigMap", "weir"]["data"]["weir.yaml"])

    def test_versions(self):
        self.assertEqual({kind: each["apiVersion"] for (kind, _), each in self.objects.items()},
                         {"ConfigMap": "v1", "Deployment": "apps/v1", "PodDisruptionBudget": "policy/v1", "Service": "v1"})

    def test_selectors_find_the_pods(self):
        labels = self.pod["metadata"]["labels"].items()
        for (kind, name), each in self.objects.items():
            if kind == "ConfigMap":
                continue
            selector = each["spec"]["selector"]
            self.assertLessEqual(selector.get("matchLabels", selector).items(), labels, f"{kind} {name}")

    def test_ports_have_names_that_exist(self):
        ports = {port["name"]: port["containerPort"] for port in self.container["ports"]}
        wanted = [self.container[probe]["httpGet"]["port"] for probe in ("startupProbe", "livenessProbe", "readinessProbe")]
        wanted += [port["targetPort"] for (kind, _), each in self.objects.items() if kind == "Service" for port in each["spec"]["ports"]]
        self.assertLessEqual(set(wanted), set(ports))
        self.assertEqual(self.main["listen"][0]["address"], f"0.0.0.0:{ports['http']}")
        self.assertEqual(self.main["admin"]["address"], f"0.0.0.0:{ports['admin']}")

    def test_volumes(self):
        volumes = {volume["name"]: volume for volume in self.pod["spec"]["volumes"]}
        mounts = {mount["name"]: mount["mountPath"] for mount in self.container["volumeMounts"]}
        self.assertEqual(set(mounts), set(volumes))
        self.assertIn(("ConfigMap", volumes["config"]["configMap"]["name"]), self.objects)
        self.assertEqual(self.main["admin"]["token_file"], mounts["admin"] + "/token")
        # fsGroup owns what is mounted; the group has to be let in.
        self.assertEqual((volumes["admin"]["secret"]["defaultMode"], self.pod["spec"]["securityContext"]["fsGroup"]), (0o440, USER))

    def test_rights(self):
        self.assertEqual((self.pod["spec"]["securityContext"]["runAsNonRoot"], self.pod["spec"]["securityContext"]["runAsUser"]),
                         (True, USER))
        self.assertEqual(self.container["securityContext"], {
            "allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}})

    def test_the_drain_fits_into_the_grace_period(self):
        sleep = int(self.container["lifecycle"]["preStop"]["exec"]["command"][1])
        drain = seconds(self.main["timeouts"]["drain"])
        self.assertLess(sleep + drain, self.pod["spec"]["terminationGracePeriodSeconds"])

    def test_instances_and_replicas_agree(self):
        self.assertEqual(self.main["store"]["instances"], self.objects["Deployment", "weir"]["spec"]["replicas"])


if __name__ == "__main__":
    unittest.main()
