# SPDX-License-Identifier: Apache-2.0
"""The proxies that are compared: each is a process in front of the same upstream, doing the same work."""
import os
import pathlib
import ssl
import subprocess
import time
import urllib.request

UPSTREAM = 19300
REDIS = 19301


def on_cpu(cpu, command):
    return ["taskset", "-c", str(cpu), *command]


class Proxy:
    """One process (or one with its worker children), pinned to one CPU."""

    def __init__(self, name, port, work, config_name, config, command):
        self.name, self.port, self.scheme, self.refuses = name, port, "http", False
        self.folder = pathlib.Path(work) / name
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / config_name
        path.write_text(config.replace("@FOLDER@", str(self.folder)))
        self.command = [word.replace("@CONFIG@", str(path)) for word in command]

    def start(self, cpu):
        log = open(self.folder / "out.log", "w")
        self.process = subprocess.Popen(on_cpu(cpu, self.command), stdout=log, stderr=log)
        anyone = ssl._create_unverified_context()
        for _ in range(100):
            try:
                urllib.request.urlopen(f"{self.scheme}://127.0.0.1:{self.port}/", timeout=1, context=anyone).read()
                return
            except urllib.error.HTTPError:
                return
            except OSError:
                time.sleep(0.05)
        raise RuntimeError(f"{self.name} did not start, see {self.folder}/out.log")

    def stop(self):
        self.process.terminate()
        self.process.wait(10)

    def cpu_ns(self):
        """CPU time of the process and its children so far, from the scheduler's own books."""
        return cpu_ns_of([self.process.pid, *children(self.process.pid)])


def cpu_ns_of(pids):
    total = 0
    for pid in pids:
        for task in os.listdir(f"/proc/{pid}/task"):
            try:
                total += int(pathlib.Path(f"/proc/{pid}/task/{task}/schedstat").read_text().split()[0])
            except OSError:
                pass  # a thread that ended meanwhile
    return total


def children(pid):
    try:
        return [int(p) for p in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


NGINX = """
worker_processes 1; daemon off; pid @FOLDER@/pid; error_log @FOLDER@/error.log; worker_rlimit_nofile 20000;
events {{ worker_connections 8192; }}
http {{
  client_body_temp_path @FOLDER@/b; proxy_temp_path @FOLDER@/p; fastcgi_temp_path @FOLDER@/f;
  uwsgi_temp_path @FOLDER@/u; scgi_temp_path @FOLDER@/s;
  {http}
  keepalive_requests 100000000;
  upstream u {{ server 127.0.0.1:{upstream}; keepalive 256; keepalive_requests 100000000; }}
  server {{
    listen 127.0.0.1:{port}{listen}; {server}
    location / {{ proxy_pass http://u; proxy_http_version 1.1; proxy_set_header Connection "";
                  proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for; {location} }}
  }}
}}
"""


def nginx(name, port, work, http="access_log off;", server="", location="", listen=""):
    text = NGINX.format(http=http, server=server, location=location, listen=listen, port=port, upstream=UPSTREAM)
    return Proxy(name, port, work, "nginx.conf", text, ["nginx", "-c", "@CONFIG@"])


NGINX_ZONES = "".join(
    f"limit_req_zone {key} zone={zone}:50m rate={rate}r/s;"
    for zone, key, rate in [("node", '"n"', 900000), ("caller", "$http_x_caller_id", 900000),
                            ("user", '"$http_x_caller_id$http_x_user_id"', 900000), ("api", "$uri", 900000)])
NGINX_LIMITS = "".join(f"limit_req zone={zone} burst=100000 nodelay;" for zone in ("node", "caller", "user", "api"))
NGINX_LOG = ("log_format j escape=json '{\"time\":\"$msec\",\"id\":\"$request_id\",\"method\":\"$request_method\","
             "\"path\":\"$uri\",\"status\":$status,\"caller\":\"$http_x_caller_id\",\"user\":\"$http_x_user_id\","
             "\"bytes\":$body_bytes_sent,\"duration\":$request_time,\"upstream\":\"$upstream_addr\"}';"
             "access_log @FOLDER@/access.log j buffer=64k flush=1s;")
NGINX_FIELDS = ('proxy_set_header X-Request-Id $request_id; proxy_set_header Via "1.1 nginx";'
                "add_header X-Request-Id $request_id; add_header X-RateLimit-Limit 900000;"
                "add_header X-RateLimit-Remaining 1; add_header X-RateLimit-Reset 1;")


def nginx_full(name, port, work):
    return nginx(name, port, work, NGINX_LOG + NGINX_ZONES, NGINX_LIMITS, NGINX_FIELDS)


def certificate(work):
    """A key pair for all contestants of a TLS run; HAProxy wants both in one file."""
    folder = pathlib.Path(work)
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                    "-keyout", "site.key", "-out", "site.pem", "-days", "2", "-subj", "/CN=127.0.0.1"],
                   cwd=folder, check=True, stderr=subprocess.DEVNULL)
    (folder / "both.pem").write_text((folder / "site.pem").read_text() + (folder / "site.key").read_text())


def refusing(proxy):
    proxy.refuses = True
    return proxy


def over_tls(proxy):
    proxy.scheme = "https"
    return proxy


def nginx_tls(name, port, work):
    server = f"ssl_certificate {work}/site.pem; ssl_certificate_key {work}/site.key; ssl_protocols TLSv1.2 TLSv1.3;"
    return over_tls(nginx(name, port, work, server=server, listen=" ssl"))


def nginx_refused(name, port, work):
    zones = "access_log off; limit_req_zone $http_x_caller_id zone=c:10m rate=1r/m; limit_req_status 429;"
    return nginx(name, port, work, zones, "limit_req zone=c;")


HAPROXY = """
global
  nbthread 1
  maxconn 8192
{global_}
defaults
  mode http
  timeout connect 5s
  timeout client 60s
  timeout server 60s
  option http-keep-alive
  http-reuse always
{tables}
frontend f
  bind 127.0.0.1:{port}{bind}
{frontend}
  default_backend b
backend b
  option forwardfor
  server u 127.0.0.1:{upstream} maxconn 4096
"""


def haproxy(name, port, work, frontend="", tables="", global_="", bind=""):
    text = HAPROXY.format(frontend=frontend, tables=tables, global_=global_, bind=bind, port=port, upstream=UPSTREAM)
    return Proxy(name, port, work, "haproxy.cfg", text, ["haproxy", "-db", "-f", "@CONFIG@"])


def table(name):
    return f"backend {name}\n  stick-table type string len 64 size 200k expire 60s store http_req_rate(60s)\n"


HAPROXY_LIMITS = """
  http-request track-sc0 req.hdr(X-Caller-Id) table caller
  http-request track-sc1 req.hdr(X-User-Id) table user
  http-request track-sc2 path table api
  http-request deny deny_status 429 if { sc_http_req_rate(0) gt 90000000 }
  http-request deny deny_status 429 if { sc_http_req_rate(1) gt 90000000 }
  http-request deny deny_status 429 if { sc_http_req_rate(2) gt 90000000 }
"""
HAPROXY_FIELDS = """
  unique-id-format %{+X}o%ci%cp%fi%fp%Ts%rt%pid
  unique-id-header X-Request-Id
  http-request add-header Via "1.1 haproxy"
  http-response set-header X-Request-Id %[unique-id]
  http-response set-header X-RateLimit-Limit 900000
  http-response set-header X-RateLimit-Remaining 1
  http-response set-header X-RateLimit-Reset 1
  log global
  log-format '{"time":"%Ts","id":"%ID","method":"%HM","path":"%HP","status":%ST,"bytes":%B,"duration":%Ta,"upstream":"%s"}'
"""


def haproxy_full(name, port, work):
    tables = table("caller") + table("user") + table("api")
    return haproxy(name, port, work, HAPROXY_LIMITS + HAPROXY_FIELDS, tables,
                   "  log 127.0.0.1:19399 local0\n")


def haproxy_tls(name, port, work):
    return over_tls(haproxy(name, port, work, bind=f" ssl crt {work}/both.pem"))


def haproxy_refused(name, port, work):
    rules = ("  http-request track-sc0 req.hdr(X-Caller-Id) table caller\n"
             "  http-request deny deny_status 429 if { sc_http_req_rate(0) gt 1 }\n")
    return haproxy(name, port, work, rules, table("caller"))


WEIR = """
node: bench
workers: 1
listen: [{{address: "127.0.0.1:{port}"{listen}}}]
admin: {{address: "127.0.0.1:{admin}"}}
identity:
  caller: {{from: [{{header: X-Caller-Id}}], missing: anonymous}}
  user: {{from: [{{header: X-User-Id}}], missing: anonymous}}
upstreams:
  default: {{endpoints: ["127.0.0.1:{upstream}"]}}
routes: [{{path: "/**", upstream: default}}]
store: {store}
quotas: quotas.yaml
log: {{access: {access}, denials: {{to: "off"}}}}
{more}
"""


def weir(name, port, work, binary, quotas, access='"off"', store="{kind: memory}", more="",
         listen=""):
    text = WEIR.format(listen=listen, port=port, admin=port + 50, upstream=UPSTREAM, access=access, store=store, more=more)
    proxy = Proxy(name, port, work, "weir.yaml", text, [binary, "serve", "-c", "@CONFIG@"])
    (proxy.folder / "quotas.yaml").write_text(quotas)
    return proxy


UNLIMITED = "limit:\n  node: {total: unlimited}\n"
FOUR_LAYERS = """
limit:
  node: {total: 90000000, algorithm: sliding_window}
  caller: {default: 9000000}
  user: {default: 9000000}
  api: {default: 90000000}
"""
# With the algorithms of chain_peer.lua.
LIKE_THE_PEER = FOUR_LAYERS.replace("sliding_window", "sliding_counter")
REFUSING = "limit:\n  caller: {default: 1, window: 1h}\n"


def weir_tls(name, port, work, binary, **more):
    listen = f', tls: {{certificate: "{work}/site.pem", key: "{work}/site.key"}}'
    return over_tls(weir(name, port, work, binary, UNLIMITED, listen=listen, **more))


def weir_full(name, port, work, binary, **more):
    return weir(name, port, work, binary, FOUR_LAYERS, access="'@FOLDER@/access.log'", **more)
