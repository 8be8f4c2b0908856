// SPDX-License-Identifier: Apache-2.0
// What is wrong with weir.yaml, word for word.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "folder.hpp"

namespace weir::config {
namespace {

using testing::HasSubstr;
using testing::Not;

const std::string kUpstreams =
    "upstreams: {default: {endpoints: [\"127.0.0.1:9000\"]}}\nquotas: quotas.yaml\n";

struct WeirCase {
  const char* text;  // beside kUpstreams
  const char* expected;
};

class WeirFault : public testing::TestWithParam<WeirCase> {};

TEST_P(WeirFault, IsToldInTheseWords) {
  EXPECT_THAT(weir_errors(kUpstreams + GetParam().text), HasSubstr(GetParam().expected));
}

INSTANTIATE_TEST_SUITE_P(
    Gateway, WeirFault,
    testing::Values(
        WeirCase{"nod: x", "weir.yaml:3:1: nod: unknown key; did you mean `node`?"},
        WeirCase{"node: \"a b\"", "node: `a b` is not a name; use letters, digits, _ and -"},
        WeirCase{"workers: many", "workers: `many` is not a whole number"},
        WeirCase{"workers: 0", "workers: `0` is out of range; from 1 to 256"},
        WeirCase{"listen: [{address: 8080}]", "listen[0].address: `8080` is not an address with a port"},
        WeirCase{"listen: [{}]", "listen[0].address: is missing"},
        WeirCase{"listen: []", "listen: needs a list such as"},
        WeirCase{"listen: [{address: \"localhost:80\"}]", "listen[0].address: is not an IP address"},
        WeirCase{"listen: [{address: \"127.0.0.1:80\"}, {address: \"127.0.0.1:80\"}]",
                 "listen[1].address: is listened on twice"},
        WeirCase{"listen: [{address: \"127.0.0.1:9901\"}]",
                 "admin.address: is one of the addresses under listen"},
        WeirCase{"listen: [{address: \"127.0.0.1:80\", tls: {}}]",
                 "listen[0].tls.certificate: is missing; write the name of a PEM file"},
        WeirCase{"listen: [{address: \"127.0.0.1:80\", tls: {certificate: x.pem, key: y.key}}]",
                 "listen[0].tls.certificate: cannot read "},
        WeirCase{"listen: [{address: \"127.0.0.1:80\", tls: {certificat: x.pem}}]",
                 "listen[0].tls.certificat: unknown key; did you mean `certificate`?"},
        WeirCase{"listen: [{address: \"127.0.0.1:80\", tls: {client_certificate: always}}]",
                 "listen[0].tls.client_certificate: `always` is not one of required or optional"},
        WeirCase{"listen: [{address: \"127.0.0.1:80\", tls: {client_certificate: required}}]",
                 "listen[0].tls.client_certificate: needs client_ca"},
        WeirCase{"listen: [{address: \"127.0.0.1:80\", tls: {min_version: 1.1}}]",
                 "listen[0].tls.min_version: `1.1` is not one of 1.2 or 1.3"},
        WeirCase{"listen: [{address: \"127.0.0.1:80\", tls: {certificates: x}}]",
                 "listen[0].tls.certificates: needs a list such as"},
        WeirCase{"listen: [{address: \"127.0.0.1:80\", proxy_protocol: true}]",
                 "listen: has proxy_protocol, but trusted_proxies is empty: nobody could connect"},
        WeirCase{"admin: {address: \"0.0.0.0:9901\"}",
                 "admin.address: is beyond loopback and there is neither a token_file nor tls"},
        WeirCase{"trusted_proxies: [10.0.0.0/40]", "trusted_proxies: `10.0.0.0/40` is not an address block"},
        WeirCase{"trusted_proxies: [10.1.0.0/8]",
                 "trusted_proxies: `10.1.0.0/8` has bits set beyond its prefix"},
        WeirCase{"client_address: {ipv6_prefix: 200}",
                 "client_address.ipv6_prefix: `200` is out of range; from 16 to 128"},
        WeirCase{"paths: {forward: cooked}", "paths.forward: `cooked` is not one of raw or normal"},
        WeirCase{"paths: {fold: [case, colour]}",
                 "paths.fold: `colour` is not one of case or trailing_slash"},
        WeirCase{"limits: {body_bytes: 10}", "limits.body_bytes: `10` needs a unit; write a size such as"},
        WeirCase{"limits: {header_bytes: 1MiB}",
                 "limits.header_bytes: `1MiB` is out of range; from 1KiB to 64KiB"},
        WeirCase{"timeouts: {header: none}", "timeouts.header: `none` is not a whole number; write a time"},
        WeirCase{"timeouts: {drain: 30}", "timeouts.drain: `30` needs a unit"}));

INSTANTIATE_TEST_SUITE_P(
    Identity, WeirFault,
    testing::Values(
        WeirCase{"identity: {caller: {missing: anonymous}}", "identity.caller.from: is missing"},
        WeirCase{"identity: {caller: {from: [], missing: ip}}", "identity.caller.from: needs a list"},
        WeirCase{"identity: {caller: {from: [{}], missing: ip}}",
                 "identity.caller.from[0]: needs one of {header: NAME}"},
        WeirCase{"identity: {caller: {from: [{header: X, query: y}]}}",
                 "identity.caller.from[0]: needs one of"},
        WeirCase{"identity: {caller: {from: [{header: \"X Y\"}]}}",
                 "is not a name that HTTP allows for a field"},
        WeirCase{
            "identity: {caller: {from: [{jwt: azp}]}}",
            "weir.yaml:3:12: identity.caller.from: asks for a token's claim, but auth.jwt names no keys"},
        WeirCase{"identity: {caller: {from: [{client_certificate: subject}]}}",
                 "identity.caller.from: asks for a client certificate, but no listen.tls has client_ca"},
        WeirCase{"identity: {caller: {from: [{client_certificate: san_dn}]}}",
                 "`san_dn` is no part of a certificate; did you mean `san_dns`?"},
        WeirCase{"identity: {caller: {from: [{heade: X}]}}", "heade: unknown key; did you mean `header`?"},
        WeirCase{"identity: {caller: {from: [{header: X, trust: all}]}}",
                 "`all` is not one of anyone or proxies"},
        WeirCase{"identity: {caller: {from: [{header: X}], missing: anon}}",
                 "`anon` is not one of anonymous, ip or reject"},
        WeirCase{"identity: {caller: {from: [{header: X}], reject_status: 200}}", "from 400 to 499"},
        WeirCase{"identity: {api: {from: [{header: X}]}}", "identity.api: is computed by the gateway"},
        WeirCase{"identity: {caller: {from: [{api_key: X}], missing: reject}}",
                 "asks for an API key, but auth.api_keys_file names none"},
        WeirCase{"identity: {region: {from: [region]}}",
                 "asks for the region, but there is no table `regions`"},
        WeirCase{"regions: {eu: [x]}", "regions.eu: `x` is not an address block"},
        WeirCase{"classes: {a: [b]}", "classes.a: `b` is no path pattern"},
        WeirCase{"classes: {a: [], b: []}",
                 "classes.b: takes what no other class has, but `a` does so already"},
        WeirCase{"auth: {jwt: {jwks_file: x}}", "auth.jwt.jwks_file: cannot read"},
        WeirCase{"auth: {jwt: {issuer: x}}", "auth.jwt.jwks_file: is missing"},
        WeirCase{"auth: {jwt: yes}", "auth.jwt: is a single value, a section of keys is needed"},
        WeirCase{"auth: {jwt: {jwks_file: x, leeway: 2h}}", "auth.jwt.leeway: `2h` is out of range"},
        WeirCase{"auth: {jwt: {jwks_file: x, audience: []}}", "auth.jwt.audience: needs a name or a list"},
        WeirCase{"auth: {jwt: {jwks_file: x, algorithms: [none]}}",
                 "auth.jwt.algorithms: `none` is not one of HS256, RS256 or ES256"},
        WeirCase{"auth: {jwt: {jwks_file: x, algorithms: []}}", "auth.jwt.algorithms: needs at least one"},
        WeirCase{"auth: {header: \"a b\"}", "auth.header: is not a name that HTTP allows for a field"},
        WeirCase{"auth: {required: jwt}", "auth.required: asks for a token, but auth.jwt names no keys"},
        WeirCase{"auth: {required: api_key}",
                 "auth.required: asks for an API key, but auth.api_keys_file names none"},
        WeirCase{"auth: {required: any}", "auth.required: asks for a credential, but auth has neither"},
        WeirCase{"auth: {required: both}", "auth.required: `both` is not one of none, api_key, jwt or any"},
        WeirCase{"routes: [{path: /a, auth: jwt}]",
                 "routes[0].auth: asks for a token, but auth.jwt names no keys"},
        WeirCase{"auth: {api_keys_file: none.yaml}", "auth.api_keys_file: cannot read"}));

INSTANTIATE_TEST_SUITE_P(
    Routes, WeirFault,
    testing::Values(WeirCase{"routes: [{path: /a, upstream: defualt}]",
                             "routes[0].upstream: `defualt` is no upstream; did you mean `default`?"},
                    WeirCase{"routes: [{path: /a}, {path: /a}]",
                             "routes[1].path: `/a` is never reached: routes[0] is the same"},
                    WeirCase{"routes: [{path: \"/a/{x}\"}, {path: \"/a/{y}\"}]",
                             "routes[1].path: `/a/{y}` is never reached"},
                    WeirCase{"routes: [{path: a}]", "routes[0].path: `a` is no path pattern"},
                    WeirCase{"routes: [{upstream: default}]", "routes[0].path: is missing"},
                    WeirCase{"routes: [{path: /a, criticality: high}]",
                             "`high` is not one of core, auxiliary or optional"},
                    WeirCase{"routes: []", "routes: needs a list"}));

INSTANTIATE_TEST_SUITE_P(
    Store, WeirFault,
    testing::Values(
        WeirCase{"store: {kind: redsi}",
                 "store.kind: `redsi` is not one of memory or redis; did you mean `redis`?"},
        WeirCase{"store: {kind: redis}", "store.url: is missing; kind: redis needs one"},
        WeirCase{"store: {kind: redis, url: \"http://x\"}", "store.url: is not a store URL"},
        WeirCase{"store: {kind: redis, url: [\"redis://a\", \"redis//b\"]}", "store.url: is not a store URL"},
        WeirCase{"store: {kind: redis, url: \"redis://a/3\", cluster: true}",
                 "store.url: names a database; a cluster has only database 0"},
        WeirCase{"store: {kind: redis, url: \"unix:///tmp/a\", cluster: true}",
                 "store.url: is a unix socket; a cluster needs host:port"},
        WeirCase{"store: {kind: redis, url: \"redis://a\", username: weir}",
                 "store.username: has no password; add password_file"},
        WeirCase{"store: {kind: redis, url: \"rediss://a\", tls: {ca: nowhere.pem}}",
                 "store.tls.ca: cannot read"},
        WeirCase{"store: {kind: redis, url: [\"redis://a\"], sentinel: {addresses: [\"a:1\"]}}",
                 "store.sentinel: is for one primary; a cluster fails over by itself"},
        WeirCase{"store: {url: \"redis://x\"}", "store.url: is for kind: redis"},
        WeirCase{"store: {kind: redis, url: \"redis://h\", counting: lease}",
                 "store.counting: `lease` is not one of auto, exact or leased; did you mean"},
        WeirCase{"store: {kind: redis, url: \"redis://h\", lease: {max_age: 2s}}", "store.lease.max_age: "},
        WeirCase{"store: {kind: redis, url: \"redis://h\", lease: {outstanding: 50%}}",
                 "store.lease.outstanding: is not a share from 0% to 20%"},
        WeirCase{"store: {kind: redis, url: \"redis://h\", lease: {debts: 0%}}", "did you mean `debt`"},
        WeirCase{"store: {kind: redis, url: \"redis://h\", lease: {debt: 6%}}",
                 "is not a share from 0% to 5%"},
        WeirCase{"store: {kind: redis, url: \"redis://h\", sentinel: {name: x}}",
                 "store.sentinel.addresses: is missing: a list of host:port"},
        WeirCase{"store: {max_keys: 0}", "store.max_keys: `0` is out of range; from 64 to"},
        WeirCase{"store: {kind: redis, url: \"redis://h\", timeout: 20}", "store.timeout: `20` needs a unit"},
        WeirCase{"store: {kind: redis, url: \"redis://h\", password_file: nowhere}",
                 "store.password_file: cannot read"}));

INSTANTIATE_TEST_SUITE_P(
    Answers, WeirFault,
    testing::Values(
        WeirCase{"answers: {ietf: on}", "answers.ietf: `on` is not one of true or false"},
        WeirCase{"answers: {legacy: seconds}", "answers.legacy: `seconds` is not one of epoch, delta or off"},
        WeirCase{"answers: {status: 503}", "answers.status: `503` is out of range; from 400 to 499"},
        WeirCase{"answers: {upstream_fields: merge}",
                 "`merge` is not supported by this version; write pass or strip"},
        WeirCase{"answers: {cors: {origins: [app.example]}}",
                 "answers.cors.origins: `app.example` is not an origin"},
        WeirCase{"answers: {cors: {origins: [\"*\"], credentials: true}}",
                 "cannot be true beside the origin *"},
        WeirCase{"answers: {cors: {headers: [\"a b\"]}}",
                 "answers.cors.headers: `a b` is not a name that HTTP allows"},
        WeirCase{"answers: {linger: {time: 5}}", "answers.linger.time: `5` needs a unit"},
        WeirCase{"log: {level: loud}", "log.level: `loud` is not one of trace, debug, info, warn or error"},
        WeirCase{"log: {format: text}", "log.format: `text` is not one of json"},
        WeirCase{"log: {denials: {sample: 7}}", "log.denials.sample: `7` is not a share"}));

TEST(UpstreamErrors, AreTold) {
  const auto errors = [](const std::string& upstream) {
    return weir_errors("quotas: quotas.yaml\nupstreams: {default: " + upstream + "}\n");
  };
  EXPECT_THAT(weir_errors("quotas: quotas.yaml\n"), HasSubstr("upstreams: needs at least one"));
  EXPECT_THAT(errors("{}"), HasSubstr("upstreams.default.endpoints: is missing"));
  EXPECT_THAT(errors("{endpoints: []}"), HasSubstr("upstreams.default.endpoints: is empty"));
  EXPECT_THAT(errors("{endpoints: [x]}"), HasSubstr("endpoints: `x` is not an address with a port"));
  const std::string good = "{endpoints: [\"h:1\"], ";
  EXPECT_THAT(errors(good + "balance: random}"),
              HasSubstr("`random` is not one of least_request or round_robin"));
  EXPECT_THAT(errors(good + "timeout: {connect: none}}"),
              HasSubstr("timeout.connect: `none` is not a whole number"));
  EXPECT_EQ(errors(good + "health: {path: /}}"), "");
  EXPECT_THAT(errors(good + "health: {interval: 5s}}"), HasSubstr("default.health.path: is missing"));
  EXPECT_THAT(errors(good + "health: {path: /, status: 399-200}}"), HasSubstr("is no range of status codes"));
  EXPECT_THAT(errors(good + "ejection: {max_share: 50}}"), HasSubstr("ejection.max_share: `50` is no share"));
  EXPECT_THAT(errors(good + "ejection: {statuses: [200]}}"), HasSubstr("is no status of an error"));
  EXPECT_THAT(errors(good + "breaker: {}}"), HasSubstr("default.breaker: is not supported by this version"));
  EXPECT_EQ(errors(good + "tls: {}}"), "");
  EXPECT_THAT(errors(good + "tls: {ca: nowhere.pem}}"), HasSubstr("default.tls.ca: cannot read"));
  EXPECT_THAT(errors(good + "retries: {attempts: 11}}"), HasSubstr("retries.attempts"));
  EXPECT_THAT(errors(good + "retries: {on: [rest]}}"), HasSubstr("`rest` is not one of reset, timeout or"));
  EXPECT_THAT(errors(good + "trailers: [Host]}"), HasSubstr("`host` must not come as a trailer"));
  EXPECT_THAT(errors(good + "balance: {hash: {query: a}}}"),
              HasSubstr("default.balance.hash: needs a dimension"));
  EXPECT_THAT(errors(good + "balance: {hash: nobody}}"),
              HasSubstr("`nobody` is no dimension under identity"));
  EXPECT_THAT(errors("{endpoints: [\"h:1\", {address: \"h:1\", weight: 2}]}"),
              HasSubstr("`h:1` stands there twice"));
  EXPECT_THAT(errors("{endpoints: [{address: \"h:1\", weight: 0}]}"), HasSubstr("endpoints.weight"));
  EXPECT_THAT(errors("{endpoints: [\"unix:run/x\"]}"), HasSubstr("is no path of a socket"));
  EXPECT_EQ(errors(good + "retries: {attempts: 1, budget: 20%}}"), "");
}

TEST(MissingIdentity, HasToBeDecidedWhereALayerCountsByIt) {
  const Folder folder;
  const auto errors = [&](const std::string& identity) {
    return text_of(load_texts(folder, kUpstreams + identity, "limit: {user: {default: 5}}").errors, folder);
  };
  EXPECT_EQ(errors("identity: {caller: {from: [{header: C}], missing: ip}, user: {from: [{header: U}]}}\n"),
            "weir.yaml:3:56: identity.user.missing: is missing, and the layer user counts by user; write "
            "anonymous, ip "
            "or reject\n");
  EXPECT_THAT(errors("identity: {user: {from: [{header: U}], missing: ip}}\n"),
              HasSubstr("limit.user: counts by caller, but weir.yaml says nothing of it"));
}

TEST(ApiKeyFile, FaultsNeverQuoteAKey) {
  const Folder folder;
  const auto errors = [&](const std::string& keys) {
    folder.write("keys.yaml", keys);
    return text_of(load_texts(folder, kUpstreams + "auth: {api_keys_file: keys.yaml}\n", "limit: {}").errors,
                   folder);
  };
  const std::string hash(64, 'a');
  EXPECT_EQ(errors("keys: [{sha256: " + hash + ", caller: x}]"), "");
  EXPECT_THAT(errors("keys: [{sha256: topsecret, caller: x}]"),
              HasSubstr("keys[0].sha256: is not a SHA-256"));
  EXPECT_THAT(errors("keys: [{sha256: topsecret, caller: x}]"), Not(HasSubstr("topsecret")));
  EXPECT_THAT(errors("keys: [{caller: x}]"), HasSubstr("keys[0].sha256: is missing"));
  EXPECT_THAT(errors("keys: [{sha256: " + hash + ", a: b}, {sha256: " + hash + ", caller: y}]"),
              HasSubstr("keys[1].sha256: stands in the file twice"));
  EXPECT_THAT(errors("keys: [{sha256: " + hash + ", callr: x}]"),
              HasSubstr("`callr` is no dimension; did you mean `caller`?"));
  EXPECT_THAT(errors("keys: {}"), HasSubstr("keys: needs a list"));
}

}  // namespace
}  // namespace weir::config
