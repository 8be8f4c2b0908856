# SPDX-License-Identifier: Apache-2.0
"""Alert rules by promtool: each one is quiet, then raised by the figures it is about; each has a runbook."""
import json
import pathlib
import re
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
RULES = [ROOT / "docker/prometheus" / name for name in ("recording.yml", "alerts.yml")]
NAMES = re.findall(r"- alert: (\w+)", RULES[1].read_text())
LE = (0.001, 0.01, 0.1, 1)


def histogram(name, labels, per_bucket):
    """Series of a cumulative histogram that grows by per_bucket every 5 s."""
    total, out = 0, {}
    for le, grows in zip((*LE, "+Inf"), (*per_bucket, 0)):
        total += grows
        out[f'{name}_bucket{{job="weir",{labels}le="{le}"}}'] = f"0x60 0+{total}x240"
    return out


# alert: (series, 5 s apart and without harm for the first five minutes; seconds until it has to be there)
I = 'job="weir",instance="a"'
CASES = {
    "WeirNodeRefusing": ({'weir_denials_total{job="weir",layer="node"}': "0x60 0+9x240"}, 360),
    "WeirCallerRefused": ({f'weir_top_caller_refusals{{{I},layer="caller",caller="c"}}': "99x60 101x240"}, 310),
    "WeirApiRefused": ({'weir_denials_total{job="weir",layer="api"}': "0+8x60 480+9x240"}, 420),
    "WeirLayerRefused": ({'weir_denials_total{job="weir",layer="ip"}': "0+8x60 480+9x240"}, 420),
    "WeirWarnCrossings": ({'weir_layer_decisions_total{job="weir",layer="user",outcome="warned"}': "0x60 0+3x240"}, 600),
    "WeirShadowRefusals": ({'weir_layer_decisions_total{job="weir",layer="user",outcome="shadow_denied"}': "0x60 0+30x240"},
                           900),
    "WeirWindowSwitchBurst": ({'weir_window_switch_requests_total{job="weir",layer="api"}': "0+8x60 480+40x240",
                               'weir_layer_decisions_total{job="weir",layer="api",outcome="allowed"}': "0+100x300"}, 1200),
    "WeirRefusalsRising": ({'weir_denials_total{job="weir",layer="caller"}': "0+1x720 720+5x300",
                            'weir_requests_total{job="weir",outcome="allowed"}': "0+100x1020"}, 4500),
    "WeirTrafficSurge": ({'weir_requests_total{job="weir",outcome="allowed"}': "0+100x720 72000+500x300"}, 4500),
    "WeirNodeNearLimit": ({'weir_layer_fill_ratio_bucket{job="weir",layer="node",le="0.8"}': "0+10x60 600x240",
                           'weir_layer_fill_ratio_bucket{job="weir",layer="node",le="0.9"}': "0+10x300",
                           'weir_layer_fill_ratio_bucket{job="weir",layer="node",le="+Inf"}': "0+10x300"}, 1200),
    "WeirStoreUnreachable": ({f"weir_store_state{{{I}}}": "0x60 1x240"}, 330),
    "WeirStoreDown": ({f"weir_store_state{{{I}}}": "1x60 2x240"}, 310),
    "WeirParentUnreachable": ({f"weir_parent_state{{{I}}}": "0x60 1x240"}, 375),
    "WeirStoreErrors": ({f'weir_store_errors_total{{{I},kind="timeout"}}': "0x60 0+2x240"}, 480),
    "WeirStoreSelfTest": ({f'weir_store_self_test{{{I},finding="f"}}': "0x60 1x240"}, 375),
    "WeirStoreSlow": (histogram("weir_store_call_duration_seconds", 'instance="a",', (1, 1, 9, 0)), 1200),
    "WeirStoreBreakerOpen": ({f"weir_store_breaker_open{{{I}}}": "0x60 2x240"}, 350),
    "WeirUnjudgedRequests": ({f'weir_layer_answers_total{{{I},layer="user",answered="failed_open"}}': "0x60 0+1x240"}, 360),
    "WeirMemoryStoreFull": ({f"weir_store_evictions_total{{{I}}}": "0x60 0+50x240"}, 1200),
    "WeirUpstreamFailing": ({'weir_upstream_requests_total{job="weir",cluster="d",endpoint="e",outcome="5xx"}': "0x60 0+10x240",
                             'weir_upstream_requests_total{job="weir",cluster="d",endpoint="e",outcome="2xx"}': "0+90x300"}, 480),
    "WeirUpstreamDown": ({'weir_upstream_requests_total{job="weir",cluster="d",endpoint="e",outcome="connect_failed"}': "0x60 0+10x240",
                          'weir_upstream_requests_total{job="weir",cluster="d",endpoint="e",outcome="2xx"}': "0+90x60 5400x240"},
                         480),
    "WeirUpstreamUnhealthy": ({f'weir_upstream_healthy{{{I},upstream="d",endpoint="e"}}': "1x60 0x240"}, 345),
    "WeirUpstreamQueueRefuses": ({f'weir_upstream_queue_refused_total{{{I},upstream="d",reason="full"}}': "0x60 0+5x240"}, 375),
    "WeirStoreWaste": ({f"weir_store_wasted_permits_total{{{I}}}": "0x60 0+2x240",
                        f"weir_store_split_permits_total{{{I}}}": "0+100x300"}, 1200),
    "WeirCertificateExpires": ({f'weir_tls_certificate_not_after_seconds{{{I},certificate="c"}}': "9999999x60 9999x240"}, 375),
    "WeirCertificateNotValid": ({f"weir_tls_certificates_kept{{{I}}}": "0x60 1x240",
                                 f"weir_tls_certificates_not_valid{{{I}}}": "0x300"}, 375),
    "WeirDown": ({f"up{{{I}}}": "1x60 0x240"}, 330),
    "WeirRestarting": ({f"weir_start_time_seconds{{{I}}}": "1x60 2 3 4x240"}, 320),
    "WeirWorkersBusy": ({f'weir_worker_busy_seconds_total{{{I},worker="0"}}': "0+3.9x60 234+4.5x240"}, 900),
    "WeirLoopLag": (histogram("weir_worker_loop_lag_seconds", 'instance="a",', (1, 1, 9, 0)), 1200),
    "WeirConnectionCap": ({f"weir_accept_pauses_total{{{I}}}": "0x60 1x240"}, 320),
    "WeirLogLinesLost": ({f"weir_request_log_lines_dropped_total{{{I}}}": "0x60 40x240",
                          f"weir_log_lines_dropped_total{{{I}}}": "0x300"}, 320),
    "WeirServerErrors": ({'weir_responses_total{job="weir",class="5xx"}': "0x60 0+10x240",
                          'weir_responses_total{job="weir",class="2xx"}': "0+90x300"}, 900),
    "WeirReloadRejected": ({f'weir_config_reloads_total{{{I},result="rejected"}}': "0x60 1x240"}, 320),
    "WeirQuotasDisagree": ({f'weir_quotas_info{{{I},node="n",version="1-a"}}': "1x300",
                            'weir_quotas_info{job="weir",instance="b",node="n",version="1-a"}': "1x60 _x240",
                            'weir_quotas_info{job="weir",instance="b",node="n",version="2-b"}': "_x60 1x240"}, 700),
    "WeirQuotasSourceGone": ({f"weir_quotas_source_age_seconds{{{I}}}": "1x60 61x240"}, 375),
    "WeirOverrideExpired": ({f'weir_overrides_expired{{{I},layer="caller"}}': "0x60 2x240"}, 400),
    "WeirOverrideEndsSoon": ({f'weir_override_next_end_timestamp_seconds{{{I},layer="caller"}}': "90000x60 5000x240"}, 400),
    "WeirAuthFailures": ({f'weir_auth_failures_total{{{I},reason="expired"}}': "0x60 0+30x240"}, 1200),
}


def promtool(*arguments):
    result = subprocess.run(["promtool", *map(str, arguments)], capture_output=True, text=True, timeout=120)
    return result.returncode, result.stdout + result.stderr


def own(alert, text):
    """Each case has a job of its own, so that all can be one test; only WeirDown names the job."""
    return text if alert == "WeirDown" else text.replace('job="weir"', f'job="{alert}"')


def one_test():
    """All cases at once. Each alert is quiet while its figures are, and raised when its time has come."""
    series, checks = {}, []
    for alert, (figures, after) in CASES.items():
        series.update({own(alert, name): values for name, values in figures.items()})
        # Where a trend needs an hour of history, quiet is looked at just before its change.
        quiet = 285 if after < 3600 else 3585
        selector = own(alert, f'ALERTS{{alertname="{alert}",alertstate="firing",job="weir"}}')
        for at, value in ((quiet, 0), (after + 30, 1)):
            checks.append({"expr": f"count({selector}) or vector(0)", "eval_time": f"{at}s",
                           "exp_samples": [{"labels": "{}", "value": value}]})
    return {"interval": "5s", "promql_expr_test": checks,
            "input_series": [{"series": name, "values": values} for name, values in series.items()]}


class Rules(unittest.TestCase):
    def test_promtool_accepts_them(self):
        code, text = promtool("check", "rules", *RULES)
        self.assertEqual(code, 0, text)

    def test_what_the_important_ones_say(self):
        code, text = promtool("test", "rules", ROOT / "tests/deploy/alerts_test.yml")
        self.assertEqual(code, 0, text)

    def test_each_alert_is_quiet_and_then_raised(self):
        self.assertEqual(sorted(CASES), sorted(NAMES), "every alert has a case")
        document = {"rule_files": [str(path) for path in RULES], "evaluation_interval": "15s",
                    "tests": [one_test()]}
        with tempfile.NamedTemporaryFile("w", suffix=".yml") as file:
            json.dump(document, file)
            file.flush()
            code, text = promtool("test", "rules", file.name)
        self.assertEqual(code, 0, text)

    def test_each_alert_has_its_paragraph_in_the_runbook(self):
        headings = re.findall(r"^### (\w+)$", (ROOT / "docker/runbook.md").read_text(), re.M)
        self.assertEqual(sorted(headings), sorted(NAMES))
        links = re.findall(r"runbook_url: docker/runbook.md#(\w+)", RULES[1].read_text())
        self.assertEqual(links, [name.lower() for name in NAMES])


if __name__ == "__main__":
    unittest.main()
