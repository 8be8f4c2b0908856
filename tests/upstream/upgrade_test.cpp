// SPDX-License-Identifier: Apache-2.0
#include "upstream/upgrade.hpp"

#include <gtest/gtest.h>

#include "upstream/message_heads.hpp"

namespace weir::upstream {
namespace {

const std::vector<std::string> kAllowed{"websocket", "chat"};

http::RequestHead asking(std::vector<http::Field> fields) {
  http::RequestHead head;
  head.method = http::Method::get;
  head.method_text = "GET";
  head.authority = "a";
  head.fields = std::move(fields);
  return head;
}

TEST(Upgrade, IsAskedForInBothFields) {
  EXPECT_EQ(wanted_upgrade(asking({{"Connection", "Upgrade"}, {"Upgrade", "WebSocket"}}), kAllowed),
            "websocket");
  EXPECT_EQ(wanted_upgrade(asking({{"connection", "close , UPGRADE"}, {"upgrade", "tls, chat"}}), kAllowed),
            "chat");
  EXPECT_EQ(
      wanted_upgrade(
          asking({{"Connection", "a"}, {"Connection", "upgrade"}, {"Upgrade", "b"}, {"Upgrade", "chat"}}),
          kAllowed),
      "chat");
  EXPECT_EQ(wanted_upgrade(asking({{"Upgrade", "websocket"}}), kAllowed), "");
  EXPECT_EQ(wanted_upgrade(asking({{"Connection", "upgrade"}}), kAllowed), "");
  EXPECT_EQ(wanted_upgrade(asking({{"Connection", "xupgrade"}, {"Upgrade", "websocket"}}), kAllowed), "");
  EXPECT_EQ(wanted_upgrade(asking({{"Connection", "upgrade"}, {"Upgrade", "h2c"}}), kAllowed), "");
  EXPECT_EQ(wanted_upgrade(asking({{"Connection", "upgrade"}, {"Upgrade", "websocket"}}), {}), "");
}

TEST(Upgrade, NeedsAGetOfHttp11WithoutABody) {
  const http::RequestHead good = asking({{"Connection", "upgrade"}, {"Upgrade", "websocket"}});
  http::RequestHead head = good;
  head.version_minor = 0;
  EXPECT_EQ(wanted_upgrade(head, kAllowed), "");
  head = good;
  head.method = http::Method::post;
  EXPECT_EQ(wanted_upgrade(head, kAllowed), "");
  head = good;
  head.framing = {http::BodyKind::length, 1};
  EXPECT_EQ(wanted_upgrade(head, kAllowed), "");
  head.framing = {http::BodyKind::chunked, 0};
  EXPECT_EQ(wanted_upgrade(head, kAllowed), "");
  head.framing = {http::BodyKind::length, 0};
  EXPECT_EQ(wanted_upgrade(head, kAllowed), "websocket");
}

TEST(Upgrade, IsAcceptedForThatProtocolOnly) {
  http::ResponseHead head;
  head.status = 101;
  head.fields = {{"Upgrade", "WebSocket"}, {"Connection", "upgrade"}};
  EXPECT_TRUE(accepts_upgrade(head, "websocket"));
  EXPECT_FALSE(accepts_upgrade(head, "chat"));
  EXPECT_FALSE(accepts_upgrade(head, ""));
  head.fields = {{"Upgrade", "websocket, chat"}, {"Connection", "upgrade"}};
  EXPECT_FALSE(accepts_upgrade(head, "websocket"));
  head.fields = {{"Upgrade", "websocket"}};
  EXPECT_FALSE(accepts_upgrade(head, "websocket"));
  head.fields = {{"Connection", "upgrade"}};
  EXPECT_FALSE(accepts_upgrade(head, "websocket"));
  head.fields = {{"Upgrade", "websocket"}, {"Connection", "upgrade"}};
  head.version_minor = 0;
  EXPECT_FALSE(accepts_upgrade(head, "websocket"));
}

std::string written(const http::RequestHead& head) {
  ForwardPlan plan;
  plan.request_target = "/";
  std::string out;
  append_request_head(out, head, plan, {"a", ""});
  return out;
}

TEST(MaxForwards, IsCountedDownForOptionsOnly) {
  http::RequestHead head = asking({{"Max-Forwards", "2"}});
  EXPECT_FALSE(ends_here(head));
  EXPECT_NE(written(head).find("Max-Forwards: 2\r\n"), std::string::npos);
  head.method = http::Method::options;
  EXPECT_FALSE(ends_here(head));
  EXPECT_NE(written(head).find("Max-Forwards: 1\r\n"), std::string::npos);
  EXPECT_EQ(written(head).find("Max-Forwards: 2\r\n"), std::string::npos);
  head.fields = {{"Max-Forwards", "0"}};
  EXPECT_TRUE(ends_here(head));
  for (const char* odd : {"", "-1", "1x", "99999999999"}) {
    head.fields = {{"Max-Forwards", odd}};
    EXPECT_FALSE(ends_here(head)) << odd;
  }
}

}  // namespace
}  // namespace weir::upstream
