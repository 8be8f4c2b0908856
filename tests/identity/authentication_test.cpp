// SPDX-License-Identifier: Apache-2.0
// What a request proves decides whether it is looked at at all, and who it is.
#include "identity/authentication.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "heads.hpp"
#include "identity/extractor.hpp"
#include "tokens.hpp"

namespace weir::identity {
namespace {

using test::head_of;
using test::Signer;
using testing::HasSubstr;
using testing::StartsWith;

// Of the word "example".
constexpr std::string_view kKeyDigest = "50d858e0985ecc7f60418aaf0cc5ab587f42c2570a884095a9e8ccacd0f6545c";

class Noon final : public Clock {
 public:
  std::int64_t monotonic_ms() const noexcept override { return 0; }
  std::int64_t wall_ms() const noexcept override { return 1'800'000'000'000; }
};
const Noon kNoon;

const Signer& signer() {
  static const Signer one(JwtAlgorithm::es256);
  return one;
}

ExtractorOptions both_kinds() {
  ExtractorOptions options;
  options.node = "test";
  options.api_keys = {{std::string(kKeyDigest), {{"caller", "key-holder"}}}};
  options.auth.api_key_header = "X-Api-Key";
  options.auth.jwt.keys = test::keys_of({&signer()});
  options.auth.clock = &kNoon;
  options.dimensions = {{"caller",
                         dimension::caller,
                         {{SourceKind::jwt, "azp", false},
                          {SourceKind::api_key, "X-Api-Key", false},
                          {SourceKind::header, "X-Caller-Id", false}},
                         Missing::anonymous,
                         401,
                         true}};
  return options;
}

struct Found : Extraction {
  std::string caller;
};

Found extract(ExtractorOptions options, const std::vector<std::pair<std::string, std::string>>& fields,
              std::string_view path = "/x") {
  std::vector<http::Field> views;
  for (const auto& [name, value] : fields) views.push_back({name, value});
  const Extractor extractor(std::move(options));
  test::KeepingScratch scratch;
  Found found;
  extractor.extract(head_of(path, views), test::address("192.0.2.1"), scratch, found);
  found.caller = found.identity.text(dimension::caller);
  return found;
}

std::string bearer(std::string_view payload) {
  return "Bearer " + signer().token(payload);
}
const std::string kExpired = R"({"azp":"late","exp":1})";

TEST(Authentication, NamesTheCallerByTokenOrKey) {
  const Found token = extract(both_kinds(), {{"Authorization", bearer(R"({"azp":"shop"})")}});
  EXPECT_EQ(token.refusal, Refusal::none);
  EXPECT_EQ(token.caller, "shop");
  EXPECT_EQ(token.proved, Credential::jwt);
  const Found key = extract(both_kinds(), {{"X-Api-Key", "example"}, {"X-Caller-Id", "else"}});
  EXPECT_EQ(key.caller, "key-holder");
  EXPECT_EQ(key.proved, Credential::api_key);
  EXPECT_EQ(extract(both_kinds(), {{"Authorization", bearer("{}")}, {"X-Api-Key", "example"}}).proved,
            Credential::any);
  const Found none = extract(both_kinds(), {{"X-Caller-Id", "else"}});
  EXPECT_EQ(none.caller, "else");
  EXPECT_EQ(none.proved, Credential::none);
  EXPECT_EQ(none.auth_fault, AuthFault::none);
}

TEST(Authentication, RefusesWhatIsNotGoodEvenWhereNothingIsRequired) {
  const std::string good = signer().token(R"({"azp":"shop"})");
  const std::vector<std::pair<std::vector<std::pair<std::string, std::string>>, AuthFault>> cases{
      {{{"Authorization", "Bearer x.y.z"}}, AuthFault::malformed},
      {{{"Authorization", "Bearer"}}, AuthFault::malformed},
      {{{"Authorization", "bearer opaque"}}, AuthFault::malformed},
      {{{"Authorization", bearer(kExpired)}}, AuthFault::expired},
      {{{"Authorization", "Bearer " + good}, {"Authorization", "Basic eDp5"}}, AuthFault::contradictory},
      {{{"X-Api-Key", "guess"}}, AuthFault::unknown_api_key},
      {{{"X-Api-Key", "example"}, {"X-Api-Key", "guess"}}, AuthFault::contradictory},
      {{{"X-Api-Key", "guess"}, {"Authorization", "Bearer " + good}}, AuthFault::unknown_api_key}};
  for (const auto& [fields, fault] : cases) {
    const Found found = extract(both_kinds(), fields);
    EXPECT_EQ(found.auth_fault, fault) << fields[0].second;
    EXPECT_EQ(found.refusal, Refusal::unauthenticated);
    EXPECT_EQ(found.refusal_status, 401);
    EXPECT_EQ(found.refusal_reason, reason_of(fault));
    EXPECT_FALSE(found.challenge.empty());
    EXPECT_EQ(found.caller, "");
    EXPECT_EQ(found.missing, 0U);
  }
}

TEST(Authentication, TakesTheFaultyForAnonymousOnRequestOnly) {
  ExtractorOptions options = both_kinds();
  options.auth.on_invalid = OnInvalid::anonymous;
  const Found found = extract(options, {{"Authorization", bearer(kExpired)}});
  EXPECT_EQ(found.refusal, Refusal::none);
  EXPECT_EQ(found.auth_fault, AuthFault::expired);
  EXPECT_EQ(found.identity[dimension::caller].presence, Presence::anonymous);
  options.auth.required = Credential::jwt;
  const Found required = extract(options, {{"Authorization", bearer(kExpired)}});
  EXPECT_EQ(required.refusal, Refusal::unauthenticated);
  EXPECT_EQ(required.auth_fault, AuthFault::expired);
}

TEST(Authentication, RequiresWhatIsConfigured) {
  const auto refused = [](Credential required,
                          const std::vector<std::pair<std::string, std::string>>& fields) {
    ExtractorOptions options = both_kinds();
    options.auth.required = required;
    return extract(options, fields).refusal == Refusal::unauthenticated;
  };
  const std::pair<std::string, std::string> token{"Authorization", bearer("{}")};
  const std::pair<std::string, std::string> key{"X-Api-Key", "example"};
  EXPECT_FALSE(refused(Credential::none, {}));
  EXPECT_TRUE(refused(Credential::jwt, {}));
  EXPECT_TRUE(refused(Credential::jwt, {key}));
  EXPECT_FALSE(refused(Credential::jwt, {token}));
  EXPECT_FALSE(refused(Credential::jwt, {token, key}));
  EXPECT_TRUE(refused(Credential::api_key, {token}));
  EXPECT_FALSE(refused(Credential::api_key, {token, key}));
  EXPECT_TRUE(refused(Credential::any, {{"Authorization", "Basic eDp5"}}));
  EXPECT_FALSE(refused(Credential::any, {key}));
  EXPECT_FALSE(refused(Credential::any, {token}));
}

TEST(Authentication, MayDifferByPath) {
  ExtractorOptions options = both_kinds();
  options.auth.required = Credential::any;
  options.auth.by_path = {{test::pattern("/public/**"), Credential::none},
                          {test::pattern("POST /pay"), Credential::jwt},
                          {test::pattern("/**"), Credential::any}};
  EXPECT_EQ(extract(options, {}, "/public/a").refusal, Refusal::none);
  EXPECT_EQ(extract(options, {}, "/public/../x").refusal, Refusal::unauthenticated);
  EXPECT_EQ(extract(options, {}, "/x").refusal, Refusal::unauthenticated);
  EXPECT_EQ(extract(options, {{"Authorization", bearer(kExpired)}}, "/public/a").refusal,
            Refusal::unauthenticated);
}

TEST(Authentication, BelievesNoClaimOfAnotherType) {
  for (const char* payload : {R"({"azp":["shop"]})", R"({"azp":{"a":"shop"}})", R"({"azp":true})",
                              R"({"azp":"a\u0000b"})", R"({"azp":"@ip:192.0.2.1"})"}) {
    const Found found =
        extract(both_kinds(), {{"Authorization", bearer(payload)}, {"X-Caller-Id", "forged"}});
    EXPECT_EQ(found.identity[dimension::caller].presence, Presence::anonymous) << payload;
    EXPECT_EQ(found.missing, 1U << dimension::caller);
  }
}

TEST(Authentication, OpensTheExemptLaneByASignedName) {
  ExtractorOptions options = both_kinds();
  options.exempt.callers = {"monitor"};
  EXPECT_TRUE(extract(options, {{"Authorization", bearer(R"({"azp":"monitor"})")}}).identity.exempt);
  EXPECT_FALSE(extract(options, {{"X-Caller-Id", "monitor"}}).identity.exempt);
}

TEST(Authentication, ReadsABareTokenInAFieldOfItsOwn) {
  ExtractorOptions options = both_kinds();
  options.auth.jwt.header = "X-Token";
  const std::string token = signer().token(R"({"azp":"shop"})");
  EXPECT_EQ(extract(options, {{"X-Token", token}}).caller, "shop");
  EXPECT_EQ(extract(options, {{"X-Token", "Bearer " + token}}).caller, "shop");
  EXPECT_EQ(extract(options, {{"X-Token", "Basic eDp5"}}).auth_fault, AuthFault::malformed);
  EXPECT_EQ(extract(options, {{"Authorization", "Bearer opaque"}}).auth_fault, AuthFault::none);
}

TEST(Authentication, ChallengesInTheSchemeThatIsAskedFor) {
  EXPECT_EQ(challenge(AuthFault::missing, Credential::jwt), R"(Bearer realm="gateway")");
  EXPECT_EQ(challenge(AuthFault::missing, Credential::any),
            R"(Bearer realm="gateway", ApiKey realm="gateway")");
  EXPECT_EQ(challenge(AuthFault::missing, Credential::api_key), R"(ApiKey realm="gateway")");
  EXPECT_THAT(challenge(AuthFault::unknown_api_key, Credential::api_key), StartsWith("ApiKey "));
  for (std::size_t n = static_cast<std::size_t>(AuthFault::malformed); n < kAuthFaultNames.size(); ++n) {
    EXPECT_THAT(challenge(static_cast<AuthFault>(n), Credential::jwt), HasSubstr(R"(error="invalid_token")"));
    EXPECT_NE(reason_of(static_cast<AuthFault>(n)), "");
  }
}

}  // namespace
}  // namespace weir::identity
