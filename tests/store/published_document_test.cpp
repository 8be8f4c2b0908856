// SPDX-License-Identifier: Apache-2.0
// The document that gateways take from a real Redis: replaced in one step, and only by who has seen it.
#include "store/published_document.hpp"

#include <gtest/gtest.h>

#include "store/redis_world.hpp"
#include "support/redis_server.hpp"

namespace weir::store {
namespace {

class PublishedDocumentTest : public ::testing::Test {
 protected:
  PublishedDocumentTest()
      : caller_(make_caller(world_.loop().get_executor(), options(server_.port()), nullptr,
                            PublishedDocument::kMostReplyBytes)),
        document_(caller_, "edge", std::chrono::seconds(20)) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    EXPECT_TRUE(world_.run(redis::wait_ready(*caller_, deadline)));
  }
  ~PublishedDocumentTest() override { caller_->close(); }

  static StoreOptions options(std::uint16_t port) {
    StoreOptions options;
    options.port = port;
    return options;
  }
  Publication publish(const std::string& replaces, const std::string& hash, const std::string& text) {
    const auto done = world_.run(document_.publish(replaces, hash, text));
    EXPECT_TRUE(done.has_value());
    return done.value();
  }
  Published read() { return world_.run(document_.read()).value(); }

  test::RedisServer server_;
  test::RespClient client_{server_.port()};
  RedisWorld world_{server_.port()};
  std::shared_ptr<redis::ScriptCaller> caller_;
  PublishedDocument document_;
};

TEST_F(PublishedDocumentTest, NothingIsThereAtFirst) {
  EXPECT_EQ(read().version, "");
  EXPECT_EQ(world_.run(document_.look()).value().version, "");
  EXPECT_EQ(world_.run(document_.former()).value().version, "");
}

TEST_F(PublishedDocumentTest, VersionsCountAndTheFormerOneIsKept) {
  const Publication first = publish("", "aaaa", "one");
  EXPECT_TRUE(first.done);
  EXPECT_EQ(first.in_force.version, "1-aaaa");
  EXPECT_GT(first.in_force.at_ms, 1'600'000'000'000);
  EXPECT_EQ(publish("1-aaaa", "bbbb", "two").in_force.version, "2-bbbb");
  EXPECT_EQ(read().document, "two");
  EXPECT_EQ(world_.run(document_.look()).value().version, "2-bbbb");
  const Published former = world_.run(document_.former()).value();
  EXPECT_EQ(former.version, "1-aaaa");
  EXPECT_EQ(former.document, "one");
}

TEST_F(PublishedDocumentTest, WhoHasNotSeenTheLastOneReplacesNothing) {
  publish("", "aaaa", "one");
  for (const char* const seen : {"", "1-bbbb", "2-aaaa"}) {
    const Publication late = publish(seen, "cccc", "other");
    EXPECT_FALSE(late.done) << seen;
    EXPECT_EQ(late.in_force.version, "1-aaaa");
  }
  EXPECT_EQ(read().document, "one");
}

TEST_F(PublishedDocumentTest, NodesDoNotShareOne) {
  PublishedDocument other(caller_, "edge-2", std::chrono::seconds(20));
  publish("", "aaaa", "one");
  EXPECT_EQ(world_.run(other.look()).value().version, "");
}

// Far above what a reply of counters may be, with octets that RESP has to count.
TEST_F(PublishedDocumentTest, LargeOnesComeWhole) {
  std::string large(4 * 1024 * 1024, 'x');
  large[7] = '\r';
  large[8] = '\n';
  EXPECT_TRUE(publish("", "aaaa", large).done);
  EXPECT_EQ(read().document, large);
}

TEST_F(PublishedDocumentTest, AServerThatIsGoneIsAnError) {
  publish("", "aaaa", "one");
  client_.call({"CONFIG", "SET", "maxmemory", "1"});
  const auto refused = world_.run(document_.publish("1-aaaa", "bbbb", "two"));
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error(), redis::make_error_code(redis::ErrorKind::oom));
  caller_->close();
  EXPECT_FALSE(world_.run(document_.look()).has_value());
}

}  // namespace
}  // namespace weir::store
