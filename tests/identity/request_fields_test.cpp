// SPDX-License-Identifier: Apache-2.0
// What the gateway writes about a request: its id, and the forwarded family.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <thread>

#include "identity/forwarded_fields.hpp"
#include "identity/heads.hpp"
#include "identity/request_id.hpp"

namespace weir::identity {
namespace {

using test::address;
using test::head_of;
using testing::Contains;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::Not;

std::string id(std::string_view given, std::int64_t wall_ms = 1'700'000'000'000) {
  std::string out;
  append_request_id(out, given, wall_ms);
  return out;
}

TEST(RequestId, KeepsASafeOne) {
  EXPECT_EQ(id("a"), "a");
  EXPECT_EQ(id("Az09._~+/=@:-"), "Az09._~+/=@:-");
  EXPECT_EQ(id(std::string(128, 'x')), std::string(128, 'x'));
}

TEST(RequestId, ReplacesTheRest) {
  constexpr const char* uuid = "[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}";
  for (const std::string& given :
       {std::string(), std::string(129, 'x'), std::string("a b"), std::string("a\"b"),
        std::string("<script>"), std::string("\xc3\xa9"), std::string("a\n")}) {
    EXPECT_THAT(id(given), testing::ContainsRegex(uuid)) << given;
    EXPECT_EQ(id(given).size(), 36U);
  }
}

TEST(RequestId, CarriesTheTimeAndRises) {
  std::vector<std::string> ids;
  // A thread of its own: another test's clock must not be this one's past. More ids in one millisecond than
  // the counter holds, then a clock that steps back.
  std::thread thread([&ids] {
    for (int n = 0; n < 10000; ++n) ids.push_back(id("", n < 9000 ? 0x0123456789ab : 5));
  });
  thread.join();
  EXPECT_EQ(ids.front().substr(0, 13), "01234567-89ab");
  for (std::size_t n = 1; n < ids.size(); ++n) EXPECT_LT(ids[n - 1], ids[n]);
}

TEST(RequestId, ThreadsNeverShareOne) {
  std::vector<std::vector<std::string>> made(4);
  std::vector<std::thread> threads;
  for (auto& ids : made) {
    threads.emplace_back([&ids] {
      for (int n = 0; n < 5000; ++n) ids.push_back(id("", 1000));
    });
  }
  for (auto& thread : threads) thread.join();
  std::set<std::string> all;
  for (const auto& ids : made) all.insert(ids.begin(), ids.end());
  EXPECT_EQ(all.size(), 20000U);
}

std::string fields(const http::RequestHead& head, std::string_view peer, bool secure, bool trusted) {
  std::string out;
  append_forwarded_fields(out, head, address(peer), secure, trusted);
  return out;
}

TEST(ForwardedFields, StrangersAreOverwritten) {
  const auto head = head_of("/", {{"X-Forwarded-For", "6.6.6.6"},
                                  {"X-Forwarded-Proto", "https"},
                                  {"X-Forwarded-Host", "evil.test"},
                                  {"X-Forwarded-Port", "1"}});
  EXPECT_EQ(fields(head, "::ffff:1.2.3.4", false, false),
            "X-Forwarded-For: 1.2.3.4\r\nX-Forwarded-Proto: http\r\nX-Forwarded-Host: gateway.test\r\n"
            "X-Forwarded-Port: 80\r\n");
}

TEST(ForwardedFields, TrustedProxiesAreContinued) {
  const auto head = head_of("/", {{"X-Forwarded-For", "6.6.6.6, 1.2.3.4"},
                                  {"x-forwarded-for", "10.2.2.2"},
                                  {"X-Forwarded-Proto", "https"},
                                  {"X-Forwarded-Host", "shop.test:8443"}});
  EXPECT_EQ(fields(head, "10.1.1.1", false, true),
            "X-Forwarded-For: 6.6.6.6, 1.2.3.4, 10.2.2.2, 10.1.1.1\r\nX-Forwarded-Proto: https\r\n"
            "X-Forwarded-Host: shop.test:8443\r\nX-Forwarded-Port: 8443\r\n");
}

TEST(ForwardedFields, UnsoundValuesAreReplacedEvenFromTrustedProxies) {
  const auto head = head_of("/", {{"X-Forwarded-Proto", "https"},
                                  {"X-Forwarded-Proto", "http"},
                                  {"X-Forwarded-Host", "a.test, b.test"},
                                  {"X-Forwarded-Port", "80x"}});
  EXPECT_EQ(fields(head, "10.1.1.1", true, true),
            "X-Forwarded-For: 10.1.1.1\r\nX-Forwarded-Proto: https\r\nX-Forwarded-Host: gateway.test\r\n"
            "X-Forwarded-Port: 443\r\n");
}

TEST(ForwardedFields, WholeAddressesAreForwarded) {
  EXPECT_THAT(fields(head_of("/"), "2001:db8::5", false, false),
              HasSubstr("X-Forwarded-For: 2001:db8::5\r\n"));
}

TEST(FieldsToRemove, CoversTheFamilyAndItsTwins) {
  const std::vector<std::string> asserted{"x-weir-caller"};
  const FieldsToRemove names = fields_to_remove(asserted);
  for (const std::string name : {"x-forwarded-for", "x_forwarded_for", "x-forwarded_for", "x-request-id",
                                 "x-weir-caller", "x_weir_caller"}) {
    EXPECT_THAT(names.from_trusted, Contains(name));
    EXPECT_THAT(names.from_others, Contains(name));
  }
  for (const std::string name : {"forwarded", "x-real-ip", "x_real_ip"}) {
    EXPECT_THAT(names.from_trusted, Not(Contains(name)));
    EXPECT_THAT(names.from_others, Contains(name));
  }
}

}  // namespace
}  // namespace weir::identity
