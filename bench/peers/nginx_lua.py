# SPDX-License-Identifier: Apache-2.0
"""nginx with ngx_lua and Redis, as Debian has them: four layers by one EVALSHA per request over pooled connections."""
import hashlib
import pathlib

import proxies

SCRIPT = pathlib.Path(__file__).parent / "chain_peer.lua"
MODULES = "/usr/lib/nginx/modules"
ACCESS = """
local redis = require "nginx.redis"
local caller, user = ngx.var.http_x_caller_id or "-", ngx.var.http_x_user_id or "-"
local link = redis:new()
link:set_timeout(200)
local connected, problem = link:connect("127.0.0.1", %(redis)d)
if not connected then return ngx.exit(503) end
local reply
reply, problem = link:evalsha("%(sha)s", 4, "p:n:", "p:c:" .. caller, "p:u:" .. caller .. ":" .. user, "p:a:" .. ngx.var.uri,
  90000000, 60000, 9000000, 60000, 9000000, 60000, 90000000, 60000)
if not reply and problem and problem:find("NOSCRIPT", 1, true) then
  reply, problem = link:script("load", chain) and link:evalsha("%(sha)s", 4, "p:n:", "p:c:" .. caller,
    "p:u:" .. caller .. ":" .. user, "p:a:" .. ngx.var.uri, 90000000, 60000, 9000000, 60000, 9000000, 60000, 90000000, 60000)
end
if not reply then return ngx.exit(503) end
link:set_keepalive(60000, 256)
ngx.header["X-RateLimit-Limit"] = 9000000
ngx.header["X-RateLimit-Remaining"] = reply[3]
ngx.header["X-RateLimit-Reset"] = math.floor(ngx.now()) + 60
if reply[1] == 0 then
  ngx.header["Retry-After"] = math.ceil(reply[4] / 1000)
  return ngx.exit(429)
end
"""


def nginx_lua(name, port, work):
    script = SCRIPT.read_text()
    access = ACCESS % {"sha": hashlib.sha1(script.encode()).hexdigest(), "redis": proxies.REDIS}
    http = ("access_log off; lua_package_path '/usr/share/lua/5.1/?.lua;;';"
            f"init_by_lua_block {{ chain = io.open('{SCRIPT}'):read('*a') }}")
    proxy = proxies.nginx(name, port, work, http, location=f"access_by_lua_block {{ {access} }}")
    config = proxy.folder / "nginx.conf"
    modules = "".join(f"load_module {MODULES}/{module}.so;\n" for module in ("ndk_http_module", "ngx_http_lua_module"))
    config.write_text(modules + config.read_text())
    return proxy
