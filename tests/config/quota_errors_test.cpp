// SPDX-License-Identifier: Apache-2.0
// What is wrong with a quota file, word for word: these lines are what its owner gets to read.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "folder.hpp"

namespace weir::config {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(QuotaErrors, UnknownKeysComeWithTheNearestOne) {
  EXPECT_EQ(
      quota_errors("limit:\n  caller: {defualt: 5}\n"),
      "quotas.yaml:2:3: limit.caller: has no default; every key needs a limit, write a number, unlimited or "
      "blocked\n"
      "quotas.yaml:2:12: limit.caller.defualt: unknown key; did you mean `default`?\n");
  EXPECT_THAT(quota_errors("limitt: {}\n"),
              HasSubstr("quotas.yaml:1:1: limitt: unknown key; did you mean `limit`?\n"));
  EXPECT_THAT(quota_errors("limit: {}\nzzz: 1\n"),
              HasSubstr("zzz: unknown key; known here: limit, switches or version\n"));
}

TEST(QuotaErrors, AllAtOnceInTheOrderOfTheFile) {
  EXPECT_EQ(
      quota_errors("limit:\n"
                   "  node: {total: 100, window: 60}\n"
                   "  caller: {default: 0}\n"
                   "  user: {default: -5}\n"
                   "  api: {default: 10, algorithm: token_buckets}\n"),
      "quotas.yaml:2:22: limit.node.window: `60` needs a unit; write a time such as 500ms, 20s, 5m, 24h or "
      "31d, "
      "or day or month\n"
      "quotas.yaml:3:21: limit.caller.default: `0` would refuse everything; write blocked if that is meant\n"
      "quotas.yaml:4:19: limit.user.default: `-5` must not be negative; a limit is a number, a rate such as "
      "1000/day, a share of `capacity` such as 60%, unlimited or blocked\n"
      "quotas.yaml:4:19: limit.user.default: has no limit and the layer has no default to inherit; write "
      "limit\n"
      "quotas.yaml:5:33: limit.api.algorithm: `token_buckets` is not one of fixed_window, sliding_window, "
      "sliding_counter, sliding_log, token_bucket, gcra, leaky_bucket or concurrency; did you mean "
      "`token_bucket`?\n");
}

struct QuotaCase {
  const char* quotas;
  const char* expected;
};

class QuotaFault : public testing::TestWithParam<QuotaCase> {};

TEST_P(QuotaFault, IsToldInTheseWords) {
  EXPECT_THAT(quota_errors(GetParam().quotas), HasSubstr(GetParam().expected));
}

INSTANTIATE_TEST_SUITE_P(
    Values, QuotaFault,
    testing::Values(
        QuotaCase{"limit: {caller: {default: lots}}",
                  "limit.caller.default: `lots` is not a whole number; a limit is"},
        QuotaCase{"limit: {caller: {default: 5, window: 60 parsecs}}", "`60 parsecs` has no known unit"},
        QuotaCase{"limit: {caller: {default: 5, window: 10ms}}",
                  "`10ms` is out of range; a window lasts from 1s to 31d"},
        QuotaCase{"limit: {caller: {default: }}",
                  "limit.caller.default: has no value; write one or leave the key out"},
        QuotaCase{"limit: {caller: [1]}", "limit.caller: needs a section such as {default: 100}"},
        QuotaCase{"limit: {caller: {default: [1]}}", "limit.caller.default: is a list; a limit is a number"},
        QuotaCase{"limit: [1]", "limit: is a list, a section of keys is needed"},
        QuotaCase{"- 1\n- 2\n", "quotas.yaml:1:1: is a list, a section of keys is needed"},
        QuotaCase{"limit: {user: {default: 10/week}}", "`10/week` is not a rate; write one such as 10/s"},
        QuotaCase{"limit: {user: {default: 10/day, window: 5s, algorithm: gcra}}",
                  "counts by calendar (day, month)"},
        QuotaCase{"limit: {user: {default: 1, tiers: {free: {limit: 5/s, window: 9s}}}}",
                  "limit.user.tiers.free.window: stands beside a rate that states its own"},
        QuotaCase{"limit: {node: {total: 60%}}",
                  "limit.node.total: is a share, but the layer states no `capacity`"},
        QuotaCase{"limit: {node: {total: 5, default: 5}}", "limit.node.default: stands beside `total`"},
        QuotaCase{"limit: {user: {default: 5, mode: shadwo}}",
                  "`shadwo` is not one of enforce or shadow; did you mean `shadow`?"},
        QuotaCase{"limit: {user: {default: 5, warn_at: 80}}", "limit.user.warn_at: `80` is not a share"},
        QuotaCase{"limit: {user: {default: 5, enforce_percent: 120}}",
                  "limit.user.enforce_percent: `120` is not a percentage"},
        QuotaCase{"limit: {user: {default: 5, cells: 200, algorithm: sliding_window}}",
                  "limit.user.cells: `200` is out of range; from 2 to 100"},
        QuotaCase{"limit: {user: {default: 5, on_exceed: drop}}",
                  "`drop` is not one of reject, queue or delay"},
        QuotaCase{"limit: {user: {default: 5, on_store_failure: {brief: open}}}",
                  "`open` is not one of local, allow or deny"},
        QuotaCase{"limit: {user: {default: 5, on_store_failure: {longer: allow}}}",
                  "limit.user.on_store_failure.longer: unknown key"},
        QuotaCase{"limit: {user: {default: 5, overrides: {a: {limit: 5, until: tomorrow}}}}",
                  "`tomorrow` is not a point in time"},
        QuotaCase{"limit: {user: {default: 5, overrides: {a: {user: {default: 3}}}}}",
                  "limit.user.overrides.a.user: unknown key"},
        QuotaCase{"limit: {user: {default: 5, overrides: {a: {limit: 5, scope: instance}}}}",
                  "scope: unknown key"},
        QuotaCase{"limit: {user: {default: 5, priority: {/x: true}}}", "limit.user.priority: unknown key"},
        QuotaCase{"limit: {api: {default: 5, priority: {/x: yes}}}", "`yes` is not one of true or false"},
        QuotaCase{"limit: {api: {default: 5, cost: {/x: 0}}}",
                  "limit.api.cost./x: `0` is out of range; from 1 to"},
        QuotaCase{"limit: {api: {default: 5, overrides: {order: 5}}}",
                  "limit.api.overrides.order: `order` is no path pattern"},
        QuotaCase{"limit: {caller_api: {default: 5}}",
                  "limit.caller_api: is the name of the layer that callers'"},
        QuotaCase{"limit: {\"a b\": {default: 5}}", "is not a name; use letters, digits, _ and -"},
        QuotaCase{"limit: {accounting: lax}", "limit.accounting: `lax` is not one of all_or_none or relaxed"},
        QuotaCase{"limit: {exempt: {cidrs: [10.0.0.1/8]}}",
                  "limit.exempt.cidrs: `10.0.0.1/8` has bits set beyond its prefix"},
        QuotaCase{"limit: {exempt: {callers: monitor}}",
                  "limit.exempt.callers: is a single value, a list is needed"},
        QuotaCase{"limit: {exempt: {paths: [x]}}", "limit.exempt.paths: `x` is no path pattern"},
        QuotaCase{"limit: {cost: {settle: {response_header: X, bytes_per_permit: 1KiB}}}",
                  "the true cost comes from one of the two"},
        QuotaCase{"limit: {}\nswitches: [{resource: x}]\n",
                  "switches: degradation switches are not supported by this version"},
        QuotaCase{"limit: {}\nversion: 2\n", "version: `2` is out of range; from 1 to 1"},
        QuotaCase{"switches: []\n", "limit: is missing; a quota file holds the layers under `limit`"}));

INSTANTIATE_TEST_SUITE_P(
    Terms, QuotaFault,
    testing::Values(
        QuotaCase{"limit: {user: {default: {limit: 5, burst: 3}, algorithm: fixed_window}}",
                  "limit.user.default: states a burst, but fixed_window has none"},
        QuotaCase{"limit: {user: {default: 5, burst: 3, algorithm: fixed_window}}",
                  "limit.user.burst: has no effect here; it is for token_bucket, gcra and leaky_bucket"},
        QuotaCase{"limit: {user: {default: 5, cells: 3}}",
                  "limit.user.cells: has no effect here; it is for sliding_window"},
        QuotaCase{"limit: {user: {default: 5, max_wait: 3s}}", "limit.user.max_wait: has no effect here"},
        QuotaCase{"limit: {user: {default: {limit: 5, max_delay: 1s}}}",
                  "states max_delay without on_exceed: delay"},
        QuotaCase{"limit: {user: {default: 10001, algorithm: sliding_log}}", "is too large for sliding_log"},
        QuotaCase{"limit: {user: {default: 9007199254740992}}",
                  "limit (or burst) times the window in ms has to stay below 2^53"},
        QuotaCase{"limit: {user: {default: 10, burst: 900719925474099, window: 60s}}",
                  "has to stay below 2^53"},
        QuotaCase{"limit: {user: {default: 5, time_zone: Mars/Olympus, window: day}}",
                  "`Mars/Olympus` is no time zone"}));

INSTANTIATE_TEST_SUITE_P(
    Fit, QuotaFault,
    testing::Values(
        QuotaCase{"limit: {user: {overrides: {a: 5}}}",
                  "limit.user: has no default; every key needs a limit"},
        QuotaCase{"limit: {node: {}}", "limit.node: has no total; every key needs a limit"},
        QuotaCase{"limit: {mine: {default: 5}}", "limit.mine.key: is missing; this layer has no usual one"},
        QuotaCase{"limit: {mine: {key: [caller, usre], default: 5}}",
                  "`usre` is no dimension; did you mean `user`?"},
        QuotaCase{"limit: {mine: {key: [caller, caller], default: 5}}", "`caller` stands in it twice"},
        QuotaCase{"limit: {user: {default: 5, before: apj}, api: {default: 5}}",
                  "`apj` is no layer; did you mean `api`?"},
        QuotaCase{"limit: {a: {key: [user], default: 5, before: b}, b: {key: [user], default: 5, before: a}}",
                  "limit.a.before: goes in a circle"},
        QuotaCase{"limit: {caller: {default: 9, overrides: {x: {limit: 5, user: {default: 2}}}}}",
                  "limit.caller.overrides.x.user: needs a layer `user` to refine"},
        QuotaCase{"limit: {caller: {default: 5, overrides: {x: {from: 2026-01-02T00:00:00Z, until: "
                  "2026-01-01T00:00:00Z, limit: 5}}}}",
                  "is never valid: from is not before until"},
        QuotaCase{"limit: {caller: {default: {limit: 5, until: 2126-01-01T00:00:00Z}}}",
                  "only overrides come and go"},
        QuotaCase{"limit: {user: {default: 5}, api: {default: 50, cost: {/x: 6}}}",
                  "limit.api.cost./x: costs 6, more than limit.user.default can ever grant at once (5, "
                  "quotas.yaml:1:25)"},
        QuotaCase{"limit: {api: {default: 50, overrides: {/x: 4}, cost: {/x: 6}}}",
                  "costs 6, more than limit.api.overrides./x can ever grant at once (4"}));

TEST(QuotaErrors, ACostFitsWhereTheApisOwnLimitAllowsIt) {
  EXPECT_EQ(quota_errors("limit: {api: {default: 5, overrides: {/x: 100, /y: 2}, cost: {/x: 6}}}"), "");
  EXPECT_EQ(quota_errors("limit: {user: {default: 5, mode: shadow}, api: {default: 50, cost: {/x: 6}}}"), "");
}

TEST(QuotaErrors, MoreLayersThanAChainHas) {
  std::string quotas = "limit:\n";
  for (int n = 0; n < 17; ++n) quotas += "  l" + std::to_string(n) + ": {key: [user], default: 5}\n";
  EXPECT_THAT(quota_errors(quotas), HasSubstr("limit: has 17 layers; a chain has at most 16"));
}

TEST(QuotaErrors, OverridesFileFaultsPointIntoTheFile) {
  const Folder folder;
  folder.write("big.json", "{\n  \"a\": 5,\n  \"b\": 0\n}\n");
  const auto errors = [&] {
    return text_of(load_texts(folder, kWeir, "limit: {user: {default: 5, overrides_file: big.json}}").errors,
                   folder);
  };
  EXPECT_THAT(errors(), HasSubstr("big.json:3:"));
  EXPECT_THAT(errors(), HasSubstr("limit.user.overrides.b: `0` would refuse everything"));
  folder.write("big.json", "{\"a\": 5,}");
  EXPECT_THAT(errors(), AllOf(HasSubstr("big.json:1:"), HasSubstr("this is not valid JSON")));
  std::filesystem::remove(folder.path() / "big.json");
  EXPECT_THAT(errors(),
              HasSubstr("quotas.yaml:1:28: limit.user.overrides_file: cannot read big.json: No such file"));
}

}  // namespace
}  // namespace weir::config
