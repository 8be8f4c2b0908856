// SPDX-License-Identifier: Apache-2.0
// Counter keys are a stored format: these are their exact bytes.
#include "limit/counter_key.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "base/hash.hpp"
#include "limit/chain_builder.hpp"

namespace weir::limit {
namespace {

using testing::ElementsAre;

std::string key_of(std::vector<std::uint8_t> dimensions, Who who,
                   Policy policy = policy_of(AlgorithmKind::token_bucket, 10),
                   const std::string& name = "test") {
  const auto chain = chain_of({}, layer_of(name, std::move(dimensions), std::move(policy)));
  return build(chain, std::move(who)).keys().at(0);
}

TEST(CounterKey, golden_bytes_of_the_canonical_layers) {
  const auto chain = chain_of({}, layer_of("node", {node}, policy_of(AlgorithmKind::sliding_window, 10)),
                              layer_of("caller", {caller}, policy_of(AlgorithmKind::token_bucket, 10)),
                              layer_of("user", {caller, user}, policy_of(AlgorithmKind::token_bucket, 10)),
                              layer_of("api", {api}, policy_of(AlgorithmKind::fixed_window, 10)));
  const Built built =
      build(chain, Who().is(caller, "acme").is(user, "alice").is(api, "POST /order/{id}/pay"));
  EXPECT_THAT(built.keys(), ElementsAre("w2:edge-1:{n}:node:sw:60000", "w2:edge-1:{c=acme}:caller:tb:60000",
                                        "w2:edge-1:{c=acme}:u=alice:user:tb:60000",
                                        "w2:edge-1:{a=POST /order/%7Bid%7D/pay}:api:fw:60000"));
}

TEST(CounterKey, golden_bytes_of_every_algorithm_and_dimension) {
  const Who who = Who().is(caller, "c").is(user, "u").is(api, "a").is(api_class, "k").is(upstream, "p");
  std::vector<std::string> tails;
  for (std::size_t n = 0; n < kAlgorithmCount; ++n) {
    const std::string key = key_of({caller}, who, policy_of(static_cast<AlgorithmKind>(n), 10, 1000));
    tails.push_back(key.substr(key.find("test:")));
  }
  EXPECT_THAT(tails, ElementsAre("test:fw:1000", "test:sw:1000", "test:sc:1000", "test:sl:1000",
                                 "test:tb:1000", "test:gc:1000", "test:lb:1000", "test:cc:1000"));
  Who rest = who;
  rest.is(tier, "t").is(region, "g").is(role, "r").is(declared, "s");
  EXPECT_EQ(key_of({node, api, api_class, upstream, tier, region, role, declared}, rest),
            "w2:edge-1:{n}:a=a:k=k:p=p:t=t:g=g:r=r:X-Shard=s:test:tb:60000");
}

TEST(CounterKey, the_tag_is_the_callers_wherever_it_stands) {
  const Who who = Who().is(caller, "acme").is(api, "/x").is(user, "bob");
  EXPECT_EQ(key_of({api, caller}, who), "w2:edge-1:a=/x:{c=acme}:test:tb:60000");
  EXPECT_EQ(key_of({user, api}, who), "w2:edge-1:{u=bob}:a=/x:test:tb:60000");
}

TEST(CounterKey, missing_empty_and_present_values_differ) {
  EXPECT_EQ(key_of({caller}, Who().anonymous(caller)), "w2:edge-1:{c~}:test:tb:60000");
  EXPECT_EQ(key_of({caller}, Who().is(caller, "")), "w2:edge-1:{c=}:test:tb:60000");
  EXPECT_EQ(key_of({caller}, Who().is(caller, "~")), "w2:edge-1:{c=~}:test:tb:60000");
}

TEST(CounterKey, special_bytes_are_escaped_and_blanks_are_not) {
  EXPECT_EQ(key_of({caller}, Who().is(caller, std::string("a:b{c}%d e#\x7f\n\0=", 15))),
            "w2:edge-1:{c=a%3Ab%7Bc%7D%25d e%23%7F%0A%00=}:test:tb:60000");
  EXPECT_EQ(key_of({caller}, Who().is(caller, "J\xC3\xBCrgen")), "w2:edge-1:{c=J\xC3\xBCrgen}:test:tb:60000");
}

TEST(CounterKey, a_value_cannot_inject_a_hash_tag) {
  const std::string key = key_of({api, caller}, Who().is(caller, "acme").is(api, "}{c=other}"));
  EXPECT_EQ(key.substr(key.find('{')), "{c=acme}:test:tb:60000");
}

TEST(CounterKey, long_values_become_a_digest) {
  const std::string fits(64, 'v'), over(65, 'v');
  EXPECT_EQ(key_of({caller}, Who().is(caller, fits)), "w2:edge-1:{c=" + fits + "}:test:tb:60000");
  EXPECT_EQ(key_of({caller}, Who().is(caller, over)),
            "w2:edge-1:{c=#" + digest_hex(over) + "}:test:tb:60000");
  EXPECT_NE(key_of({caller}, Who().is(caller, '#' + digest_hex(over))),
            key_of({caller}, Who().is(caller, over)));
  // 22 colons take 66 bytes.
  const std::string colons(22, ':');
  EXPECT_EQ(key_of({caller}, Who().is(caller, colons)),
            "w2:edge-1:{c=#" + digest_hex(colons) + "}:test:tb:60000");
}

TEST(CounterKey, an_address_is_never_written) {
  const Hash128 hash = stable_hash128("10.1.2.3");
  char digits[33];
  std::snprintf(digits, sizeof digits, "%016lx%016lx", hash.high, hash.low);
  EXPECT_EQ(key_of({ip}, Who().is(ip, "10.1.2.3")),
            "w2:edge-1:{i=" + std::string(digits) + "}:test:tb:60000");
}

TEST(CounterKey, an_identity_that_stands_for_an_address_is_hashed_and_marked) {
  const std::string key = key_of({user}, Who().is(user, "@ip:10.1.2.3"));
  EXPECT_EQ(key.find("10.1.2.3"), std::string::npos);
  EXPECT_TRUE(key.starts_with("w2:edge-1:{u=#@")) << key;
  EXPECT_TRUE(key_of({user}, Who().is(user, "#@x")).starts_with("w2:edge-1:{u=%23@x}"))
      << "no value can look like it";
}

TEST(CounterKey, calendar_windows_say_which_and_where) {
  Policy day = policy_of(AlgorithmKind::fixed_window, 10, 86'400'000);
  day.terms.calendar = true;
  day.calendar = CalendarUnit::day;
  day.time_zone = "Asia/Shanghai";
  EXPECT_EQ(key_of({caller}, Who().is(caller, "a"), day), "w2:edge-1:{c=a}:test:fw:day@Asia/Shanghai");
  day.calendar = CalendarUnit::month;
  EXPECT_EQ(key_of({caller}, Who().is(caller, "a"), day), "w2:edge-1:{c=a}:test:fw:month@Asia/Shanghai");
}

TEST(CounterKey, the_exempt_lane_counts_apart) {
  EXPECT_EQ(key_of({caller}, Who().is(caller, "a").exempt()), "w2:edge-1:x:{c=a}:test:tb:60000");
}

TEST(CounterKey, the_limit_is_not_part_of_it) {
  const Who who = Who().is(caller, "a");
  EXPECT_EQ(key_of({caller}, who, policy_of(AlgorithmKind::gcra, 10)),
            key_of({caller}, who, policy_of(AlgorithmKind::gcra, 99)));
}

// The default's keys are put together from pieces made beforehand, an override's are not.
TEST(CounterKey, an_override_changes_no_key) {
  for (const std::size_t size : {0, 1, 7, 8, 15, 16, 17, 40, 64, 65, 200}) {
    for (const std::vector<std::uint8_t>& key : {std::vector<std::uint8_t>{node},
                                                 {caller},
                                                 {caller, user},
                                                 {user, caller},
                                                 {node, user},
                                                 {caller, user, api},
                                                 {user, declared}}) {
      Who who;
      for (const std::uint8_t dimension : {caller, user, api, declared})
        who.is(dimension, std::string(size, static_cast<char>('a' + dimension)));
      const std::string value =
          key.back() == node ? "" : std::string(size, static_cast<char>('a' + key.back()));
      Layer overridden = layer_of("test", key, policy_of(AlgorithmKind::token_bucket, 10));
      const Policy* const other = overridden.policies.own(policy_of(AlgorithmKind::token_bucket, 99));
      if (key.back() == node) who.is(node, "");
      overridden.policies.add_override(value, {other});
      const Built built = build(chain_of({}, std::move(overridden)), who);
      ASSERT_EQ(built.set->charge[0].policy, other);
      EXPECT_EQ(built.keys().at(0), key_of(key, who)) << size;
    }
  }
}

TEST(CounterKey, keys_stay_short_and_keep_their_tag) {
  Who who;
  std::vector<std::uint8_t> all;
  for (std::uint8_t n = 1; n <= declared; ++n) {
    who.is(n, std::string(60, static_cast<char>('a' + n)));
    all.push_back(n);
  }
  const std::string key = key_of(all, who, policy_of(AlgorithmKind::token_bucket, 1), std::string(500, 'l'));
  EXPECT_LE(key.size(), kMaxKeyBytes);
  EXPECT_EQ(key.substr(0, 75), "w2:edge-1:{c=" + std::string(60, 'b') + "}:");
  Who other = who;
  other.is(declared, std::string(60, 'z'));
  EXPECT_NE(key_of(all, other, policy_of(AlgorithmKind::token_bucket, 1), std::string(500, 'l')), key);
}

TEST(CounterKey, sixteen_of_the_longest_fit) {
  std::vector<Layer> layers;
  Who who;
  for (std::uint8_t n = 1; n <= declared; ++n) who.is(n, std::string(64, 'v'));
  for (std::size_t n = 0; n < kMaxLayers; ++n)
    layers.push_back(layer_of(std::to_string(n) + std::string(40, 'l'), {caller, user, api, declared},
                              policy_of(AlgorithmKind::token_bucket, 1, 2'678'400'000)));
  LimiterChain::Options options;
  options.node = std::string(200, 'n');
  const LimiterChain chain(std::move(options), std::move(layers));
  const Built built = build(chain, who);
  EXPECT_EQ(built.set->size, kMaxLayers);
  EXPECT_LE(built.set->keys_used, kKeyBytes);
  const auto keys = built.keys();
  EXPECT_EQ(std::set<std::string>(keys.begin(), keys.end()).size(), kMaxLayers);
}

// Two different pairs of values never give one key.
TEST(CounterKey, no_two_identities_share_a_key) {
  std::mt19937 random(7);
  const std::string alphabet = ":{}%#=~ax\x7f";
  const auto value = [&] {
    std::string text;
    for (auto n = random() % 4; n > 0; --n) text += alphabet[random() % alphabet.size()];
    return text;
  };
  const auto chain = chain_of({}, layer_of("user", {caller, user}, policy_of(AlgorithmKind::gcra, 1)));
  std::map<std::string, std::string> seen;
  for (int n = 0; n < 20'000; ++n) {
    const std::string one = value(), two = value();
    const std::string identity = std::to_string(one.size()) + '/' + one + '/' + two;
    const std::string key = build(chain, Who().is(caller, one).is(user, two)).keys().at(0);
    const auto [place, added] = seen.emplace(key, identity);
    ASSERT_TRUE(added || place->second == identity) << key;
  }
}

}  // namespace
}  // namespace weir::limit
