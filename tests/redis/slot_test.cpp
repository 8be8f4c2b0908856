// SPDX-License-Identifier: Apache-2.0
// Slots as the server computes them.
#include <gtest/gtest.h>

#include <random>

#include "redis/script_caller.hpp"
#include "support/redis_server.hpp"

namespace weir::redis {
namespace {

TEST(Slots, AreThoseOfTheServer) {
  // Its bus takes the port plus 10,000 if it is not told another, and that one may be in use.
  const std::string bus = std::to_string(test::free_port());
  test::RedisServer server({"--cluster-enabled", "yes", "--cluster-port", bus, "--cluster-config-file",
                            "/tmp/weir-slots-" + bus + ".conf"});
  test::RespClient client(server.port());
  std::vector<std::string> keys{
      "",   "a",      "{a}b",  "b{a}c{d}", "{}a",
      "{a", "a}b{c}", "{{a}}", "w1:e",     "w2:edge-1:{c=acme}:u=alice:user:tb:60000"};
  std::minstd_rand random(7);
  for (int n = 0; n < 200; ++n) {
    std::string key;
    for (unsigned size = random() % 30; size > 0; --size) key.push_back("{}:=ab\xff\x01"[random() % 8]);
    keys.push_back(key);
  }
  for (const std::string& key : keys) {
    EXPECT_EQ(client.integer({"CLUSTER", "KEYSLOT", key}), slot_of(key)) << key;
  }
}

}  // namespace
}  // namespace weir::redis
