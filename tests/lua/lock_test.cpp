// SPDX-License-Identifier: Apache-2.0
// A changed script is a decision: whoever changes it changes lua/scripts.lock too, and says there which
// layout of the stored state it reads.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <sstream>

#include "redis/script.hpp"
#include "support/redis_server.hpp"

namespace weir::test {
namespace {

std::map<std::string, std::string> locked() {
  std::map<std::string, std::string> sha1_of;
  std::ifstream file(WEIR_SOURCE_DIR "/lua/scripts.lock");
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string name;
    std::string sha1;
    if (words >> name >> sha1 && name.front() != '#') sha1_of[name] = sha1;
  }
  return sha1_of;
}

TEST(ScriptsLock, HoldsTheScriptThatIsBuiltIn) {
  const auto lock = locked();
  ASSERT_TRUE(lock.contains(std::string(redis::kChain.name)));
  EXPECT_EQ(lock.at(std::string(redis::kChain.name)), redis::kChain.sha1)
      << "lua/ has changed. Write the new SHA1 into lua/scripts.lock, and a new layout number there (and in "
         "the counter keys) if state that is stored now would be read differently.";
}

TEST(ScriptsLock, HoldsTheHeartbeat) {
  EXPECT_EQ(locked()[std::string(redis::kBeat.name)], redis::kBeat.sha1);
}

TEST(ScriptsLock, HoldsWhatIsBesideTheChain) {
  EXPECT_EQ(locked()["pool"], redis::kPool.sha1) << "lua/pool.lua has changed";
  EXPECT_EQ(locked()["forget"], redis::kForget.sha1) << "lua/forget.lua has changed";
  EXPECT_EQ(locked()["published"], redis::kPublished.sha1) << "lua/published.lua has changed";
}

TEST(ScriptsLock, ServerAndBuildComputeTheSameSha1) {
  RedisServer server;
  RespClient client(server.port());
  EXPECT_EQ(client.text({"SCRIPT", "LOAD", redis::kChain.body}), redis::kChain.sha1);
}

TEST(ScriptsLock, TheScriptIsPlainAndReadsTheStoresClock) {
  const std::string_view body = redis::kChain.body;
  EXPECT_TRUE(body.starts_with("#!lua\n"));
  EXPECT_NE(body.find("redis.call('TIME')"), std::string_view::npos);
  EXPECT_EQ(body.find("@include"), std::string_view::npos);
  EXPECT_EQ(body.find("tostring"), std::string_view::npos) << "loses digits from the 15th on";
}

}  // namespace
}  // namespace weir::test
