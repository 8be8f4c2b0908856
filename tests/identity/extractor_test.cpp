// SPDX-License-Identifier: Apache-2.0
#include "identity/extractor.hpp"

#include <gtest/gtest.h>

#include <random>

#include "identity/heads.hpp"
#include "identity/sources.hpp"

namespace weir::identity {
namespace {

using test::address;
using test::block;
using test::head_of;
using test::KeepingScratch;
using test::pattern;

constexpr std::string_view kStranger = "1.2.3.4";
constexpr std::string_view kProxy = "10.1.1.1";
// SHA-256 of "secret-key-1".
constexpr std::string_view kKeyDigest = "a6c1eaef9d5f23f4e13d9b574cbbe07ae877227d92be87d077005dc6776bcdcc";

DimensionOptions dimension_of(std::string name, Dimension index, std::vector<Source> from,
                              std::optional<Missing> missing = Missing::anonymous) {
  DimensionOptions options;
  options.name = std::move(name);
  options.index = index;
  options.from = std::move(from);
  options.missing = missing;
  options.used_by_layer = true;
  return options;
}

ExtractorOptions base_options() {
  ExtractorOptions options;
  options.node = "edge-1";
  options.trusted_proxies = {block("10.0.0.0/8")};
  options.apis = {pattern("/**"), pattern("POST /order/{id}/pay"), pattern("/login"), pattern("/report/**")};
  return options;
}

struct Found {
  KeepingScratch scratch;
  Extraction extraction;
  const Value& operator[](Dimension d) const { return extraction.identity[d]; }
};

std::unique_ptr<Found> extract(const Extractor& extractor, const http::RequestHead& head,
                               std::string_view peer = kStranger) {
  auto found = std::make_unique<Found>();
  extractor.extract(head, address(peer), found->scratch, found->extraction);
  return found;
}

// What a log keeps of a request leads to the same dimensions as the request did.
TEST(Extractor, PlacesWhatALogSaysAsItPlacedTheRequest) {
  ExtractorOptions options = base_options();
  options.classes = {{"money", {pattern("/order/**")}}};
  options.regions = {{block("192.0.2.0/24"), "eu"}};
  options.exempt.paths = {pattern("/login")};
  options.exempt.callers = {"monitor"};
  const Extractor extractor(std::move(options));
  for (const char* const target : {"//order/7/./pay?x=1", "/login", "/report/a/../b", "/nothing"}) {
    const auto asked = extract(extractor, head_of(target, {}, "POST"), "192.0.2.7");
    Found placed;
    extractor.place("POST", asked->extraction.normal_path, asked->extraction.client, placed.scratch,
                    placed.extraction);
    for (const Dimension d :
         {dimension::node, dimension::api, dimension::api_class, dimension::ip, dimension::region}) {
      EXPECT_EQ(placed[d].text, (*asked)[d].text) << target << ' ' << int{d};
      EXPECT_EQ(placed[d].presence, (*asked)[d].presence) << target << ' ' << int{d};
    }
    EXPECT_EQ(placed.extraction.identity.exempt, asked->extraction.identity.exempt) << target;
  }
  EXPECT_TRUE(extractor.exempts("monitor"));
  EXPECT_FALSE(extractor.exempts("anybody"));
}

TEST(Extractor, FillsTheBuiltInDimensions) {
  const Extractor extractor(base_options());
  const auto found = extract(extractor, head_of("//order/7/./pay?x=1", {}, "POST"));
  EXPECT_EQ((*found)[dimension::node].text, "edge-1");
  EXPECT_EQ((*found)[dimension::api].text, "POST /order/{id}/pay");
  EXPECT_EQ((*found)[dimension::ip].text, "1.2.3.4");
  EXPECT_EQ((*found)[dimension::caller].presence, Presence::absent);
  EXPECT_EQ((*found)[dimension::api_class].presence, Presence::absent);
  EXPECT_EQ(found->extraction.normal_path, "/order/7/pay");
  EXPECT_EQ(found->extraction.refusal, Refusal::none);
  EXPECT_EQ((*extract(extractor, head_of("/else")))[dimension::api].text, "other");
  EXPECT_EQ(extractor.dimension_name(dimension::ip), "ip");
}

TEST(Extractor, EverySpellingCountsToOneApi) {
  const Extractor extractor(base_options());
  for (const std::string_view target :
       {"/login", "//login", "/./login", "/x/../login", "/%6Cogin", "/login;v=1", "/login?x=1"}) {
    EXPECT_EQ((*extract(extractor, head_of(target)))[dimension::api].text, "/login") << target;
  }
  for (const std::string_view target : {"/login%2F", "/login%00", "/../login"}) {
    const auto found = extract(extractor, head_of(target));
    EXPECT_EQ(found->extraction.refusal, Refusal::bad_path) << target;
    EXPECT_EQ(found->extraction.refusal_status, 400) << target;
    EXPECT_FALSE(found->extraction.refusal_reason.empty());
  }
}

TEST(Extractor, FoldedSpellingsCountToOneApi) {
  ExtractorOptions options = base_options();
  options.paths.fold_case = options.paths.fold_trailing_slash = true;
  const Extractor extractor(std::move(options));
  EXPECT_EQ((*extract(extractor, head_of("/LOGIN/")))[dimension::api].text, "/login");
}

TEST(Extractor, TheFirstPresentSourceWins) {
  ExtractorOptions options = base_options();
  options.dimensions = {dimension_of("user", dimension::user,
                                     {{SourceKind::header, "X-User", false},
                                      {SourceKind::query, "user", false},
                                      {SourceKind::cookie, "uid", false}})};
  const Extractor extractor(std::move(options));
  const auto user = [&](std::string_view target, std::vector<http::Field> fields) {
    return std::string((*extract(extractor, head_of(target, std::move(fields))))[dimension::user].text);
  };
  EXPECT_EQ(user("/?user=b", {{"x-user", "a"}, {"Cookie", "uid=c"}}), "a");
  EXPECT_EQ(user("/?user=b", {{"X-User", "  "}, {"Cookie", "uid=c"}}), "b");
  EXPECT_EQ(user("/", {{"Cookie", "x=1; uid=c"}}), "c");
  EXPECT_EQ(user("/", {{"Cookie", "x=1"}, {"Cookie", "uid=\"c\""}}), "c");
  EXPECT_EQ(user("/?a=1&us%65r=%62+c%26", {}), "b c&");
  EXPECT_EQ(user("/?user=", {}), "");
}

TEST(Extractor, ContradictoryValuesAreMissing) {
  ExtractorOptions options = base_options();
  options.dimensions = {dimension_of(
      "user", dimension::user, {{SourceKind::header, "X-User", false}, {SourceKind::query, "user", false}})};
  const Extractor extractor(std::move(options));
  const auto presence = [&](std::string_view target, std::vector<http::Field> fields) {
    return (*extract(extractor, head_of(target, std::move(fields))))[dimension::user].presence;
  };
  EXPECT_EQ(presence("/", {{"X-User", "a"}, {"X-User", "a"}}), Presence::present);
  EXPECT_EQ(presence("/", {{"X-User", "a"}, {"X-User", "b"}}), Presence::anonymous);
  EXPECT_EQ(presence("/", {{"X-User", "a"}, {"X-User", ""}}), Presence::anonymous);
  // A spoilt source does not open the way to a weaker one.
  EXPECT_EQ(presence("/?user=victim", {{"X-User", "a"}, {"X-User", "b"}}), Presence::anonymous);
  EXPECT_EQ(presence("/?user=a&user=b", {}), Presence::anonymous);
  EXPECT_EQ(presence("/?user=a&user=%61", {}), Presence::present);
  EXPECT_EQ(presence("/?user=%zz", {}), Presence::anonymous);
  EXPECT_EQ(presence("/?user=a%00", {}), Presence::anonymous);
  EXPECT_EQ(presence("/", {{"X-User", "@ip:1.2.3.4"}}), Presence::anonymous);
}

TEST(Extractor, MissingIdentitiesFollowTheirPolicy) {
  ExtractorOptions options = base_options();
  options.dimensions = {
      dimension_of("caller", dimension::caller, {{SourceKind::header, "X-Caller", false}}, Missing::ip),
      dimension_of("user", dimension::user, {{SourceKind::header, "X-User", false}}),
      dimension_of("role", dimension::role, {{SourceKind::header, "X-Role", false}}, Missing::reject)};
  const Extractor extractor(std::move(options));
  const auto one = extract(extractor, head_of("/login"), "127.0.0.1");
  const auto two = extract(extractor, head_of("/login"), "127.0.0.2");
  EXPECT_EQ((*one)[dimension::caller].text, "@ip:127.0.0.1");
  EXPECT_EQ((*two)[dimension::caller].text, "@ip:127.0.0.2");
  EXPECT_EQ((*one)[dimension::user].presence, Presence::anonymous);
  EXPECT_EQ((*one)[dimension::user].text, "");
  EXPECT_EQ(one->extraction.refusal, Refusal::missing_identity);
  EXPECT_EQ(one->extraction.refusal_status, 401);
  EXPECT_EQ(one->extraction.missing_dimension, dimension::role);
  EXPECT_NE(one->extraction.refusal_reason.find("role"), std::string_view::npos);
  EXPECT_EQ(one->extraction.missing, 1U << dimension::caller | 1U << dimension::user | 1U << dimension::role);

  const auto whole =
      extract(extractor, head_of("/login", {{"X-Caller", "a"}, {"X-User", "u"}, {"X-Role", "r"}}));
  EXPECT_EQ(whole->extraction.refusal, Refusal::none);
  EXPECT_EQ(whole->extraction.missing, 0U);
}

TEST(Extractor, ALayerWithoutPolicyStillCounts) {
  ExtractorOptions options = base_options();
  options.dimensions = {
      dimension_of("user", dimension::user, {{SourceKind::header, "X-User", false}}, std::nullopt)};
  const Extractor used(options);
  EXPECT_EQ((*extract(used, head_of("/")))[dimension::user].presence, Presence::anonymous);
  options.dimensions[0].used_by_layer = false;
  const Extractor unused(options);
  const auto found = extract(unused, head_of("/"));
  EXPECT_EQ((*found)[dimension::user].presence, Presence::absent);
  EXPECT_EQ(found->extraction.missing, 0U);
}

TEST(Extractor, ProxiesAreBelievedWhereOnlyTheyMaySpeak) {
  ExtractorOptions options = base_options();
  options.dimensions = {dimension_of("caller", dimension::caller, {{SourceKind::header, "X-Caller", true}})};
  const Extractor extractor(std::move(options));
  const auto head = head_of("/", {{"X-Caller", "a"}, {"X-Forwarded-For", "6.6.6.6, 5.5.5.5"}});
  EXPECT_EQ((*extract(extractor, head))[dimension::caller].presence, Presence::anonymous);
  EXPECT_EQ((*extract(extractor, head))[dimension::ip].text, "1.2.3.4");
  EXPECT_EQ((*extract(extractor, head, kProxy))[dimension::caller].text, "a");
  EXPECT_EQ((*extract(extractor, head, kProxy))[dimension::ip].text, "5.5.5.5");
  EXPECT_TRUE(extract(extractor, head, kProxy)->extraction.peer_trusted);
  EXPECT_TRUE(extractor.is_trusted(address("::ffff:10.0.0.9")));
}

TEST(Extractor, ApiKeysGiveIdentityTierAndRole) {
  ExtractorOptions options = base_options();
  options.api_keys = {{std::string(kKeyDigest), {{"caller", "acme"}, {"tier", "paid"}, {"role", "ops"}}}};
  options.dimensions = {
      dimension_of("tier", dimension::tier, {}),
      dimension_of("caller", dimension::caller, {{SourceKind::api_key, "X-Api-Key", false}}),
      dimension_of("role", dimension::role, {{SourceKind::header, "X-Role", true}})};
  const Extractor extractor(std::move(options));
  const auto known = extract(extractor, head_of("/", {{"x-api-key", "secret-key-1"}}));
  EXPECT_EQ((*known)[dimension::caller].text, "acme");
  EXPECT_EQ((*known)[dimension::tier].text, "paid");
  EXPECT_EQ((*known)[dimension::role].text, "ops");
  for (const std::string_view wrong : {std::string_view("secret-key-2"), std::string_view(), kKeyDigest}) {
    const auto unknown = extract(extractor, head_of("/", {{"X-Api-Key", wrong}}));
    EXPECT_EQ((*unknown)[dimension::caller].presence, Presence::anonymous) << wrong;
    EXPECT_EQ((*unknown)[dimension::tier].presence, Presence::anonymous) << wrong;
  }
  const auto two = extract(extractor, head_of("/", {{"X-Api-Key", "secret-key-1"}, {"X-Api-Key", "other"}}));
  EXPECT_EQ((*two)[dimension::caller].presence, Presence::anonymous);
}

TEST(Extractor, RefusesAMalformedKeyTable) {
  ExtractorOptions options = base_options();
  options.api_keys = {{"abc", {}}};
  EXPECT_THROW(Extractor{std::move(options)}, std::invalid_argument);
}

TEST(Extractor, ClassesAndRegions) {
  ExtractorOptions options = base_options();
  options.classes = {{"device", {}},
                     {"billing", {pattern("/billing/**"), pattern("/prepay/**")}},
                     {"report", {pattern("/report/**"), pattern("/billing/report")}}};
  options.regions = {{block("1.0.0.0/8"), "north"}, {block("1.2.0.0/16"), "south"}};
  const Extractor extractor(std::move(options));
  EXPECT_EQ((*extract(extractor, head_of("/billing/report")))[dimension::api_class].text, "billing");
  EXPECT_EQ((*extract(extractor, head_of("/report")))[dimension::api_class].text, "report");
  EXPECT_EQ((*extract(extractor, head_of("/lamp/7")))[dimension::api_class].text, "device");
  EXPECT_EQ((*extract(extractor, head_of("/")))[dimension::region].text, "south");
  EXPECT_EQ((*extract(extractor, head_of("/"), "1.9.9.9"))[dimension::region].text, "north");
  EXPECT_EQ((*extract(extractor, head_of("/"), "9.9.9.9"))[dimension::region].presence, Presence::absent);
}

TEST(Extractor, TheExemptLaneCannotBeClaimed) {
  ExtractorOptions options = base_options();
  options.dimensions = {
      dimension_of("caller", dimension::caller,
                   {{SourceKind::header, "X-Caller", true}, {SourceKind::header, "X-App", false}})};
  options.exempt.callers = {"monitor"};
  options.exempt.blocks = {block("192.168.0.0/16")};
  options.exempt.paths = {pattern("GET /healthz")};
  const Extractor extractor(std::move(options));
  const auto exempt = [&](const http::RequestHead& head, std::string_view peer) {
    return extract(extractor, head, peer)->extraction.identity.exempt;
  };
  EXPECT_TRUE(exempt(head_of("/", {{"X-Caller", "monitor"}}), kProxy));
  EXPECT_FALSE(exempt(head_of("/", {{"X-Caller", "monitor"}}), kStranger));
  EXPECT_FALSE(exempt(head_of("/", {{"X-App", "monitor"}}), kStranger));
  EXPECT_FALSE(exempt(head_of("/", {{"X-App", "monitor"}}), kProxy));
  EXPECT_FALSE(exempt(head_of("/", {{"X-Caller", "other"}}), kProxy));
  EXPECT_TRUE(exempt(head_of("/"), "192.168.3.4"));
  EXPECT_FALSE(exempt(head_of("/", {{"X-Forwarded-For", "192.168.3.4"}}), kStranger));
  EXPECT_TRUE(exempt(head_of("/healthz"), kStranger));
  EXPECT_FALSE(exempt(head_of("/healthz", {}, "POST"), kStranger));
}

TEST(Extractor, OneHostOfIpv6HasOneKey) {
  const Extractor extractor(base_options());
  const auto key = [&](std::string_view peer) {
    return std::string((*extract(extractor, head_of("/"), peer))[dimension::ip].text);
  };
  EXPECT_EQ(key("2001:db8::1"), key("2001:db8::ffff:2"));
  EXPECT_NE(key("2001:db8::1"), key("2001:db8:0:1::1"));
  EXPECT_EQ(key("::ffff:9.8.7.6"), "9.8.7.6");
}

TEST(Extractor, SurvivesRandomRequests) {
  ExtractorOptions options = base_options();
  options.dimensions = {dimension_of("user", dimension::user,
                                     {{SourceKind::header, "X-User", false},
                                      {SourceKind::query, "u", false},
                                      {SourceKind::cookie, "u", false}})};
  const Extractor extractor(std::move(options));
  std::mt19937 random(5);
  constexpr std::string_view alphabet = "u=;&%41\"/.? +,\x01\xfe@ip:";
  const auto noise = [&] {
    std::string text;
    for (std::size_t n = random() % 20; n > 0; --n) text += alphabet[random() % alphabet.size()];
    return text;
  };
  for (int round = 0; round < 20000; ++round) {
    const std::string target = "/" + noise() + "?" + noise();
    const std::string user = noise();
    const std::string cookie = noise();
    const auto found = extract(extractor, head_of(target, {{"X-User", user}, {"Cookie", cookie}}));
    const Value& value = (*found)[dimension::user];
    // Never absent, never present and empty: nobody is without a limit, and no key has an empty part.
    EXPECT_NE(value.presence, Presence::absent);
    EXPECT_EQ(value.presence == Presence::present, !value.text.empty());
    EXPECT_FALSE(value.text.starts_with(kAddressMarker));
  }
}

}  // namespace
}  // namespace weir::identity
