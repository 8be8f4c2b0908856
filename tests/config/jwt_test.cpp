// SPDX-License-Identifier: Apache-2.0
// `auth`: what it means, and what is said of a key set that is not good.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "folder.hpp"
#include "identity/jwt_keys.hpp"

namespace weir::config {
namespace {

using identity::Credential;
using identity::JwtAlgorithm;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::UnorderedElementsAre;

constexpr std::string_view kUpstreams =
    "upstreams: {default: {endpoints: [\"127.0.0.1:9000\"]}}\nquotas: quotas.yaml\n";
constexpr std::string_view kSecret = "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY";  // 32 octets
const std::string kSet = R"({"keys": [{"kty": "oct", "kid": "a", "k": ")" + std::string(kSecret) + R"("}]})";

LoadResult load_with(const Folder& folder, const std::string& key_set, const std::string& weir) {
  folder.write("jwks.json", key_set);
  return load_texts(folder, std::string(kUpstreams) + weir, "limit: {}\n");
}

// Errors and warnings of a key set.
std::string said_of(const std::string& key_set) {
  const Folder folder;
  const LoadResult result = load_with(folder, key_set, "auth: {jwt: {jwks_file: jwks.json}}\n");
  return text_of(result.errors, folder) + text_of(result.warnings, folder);
}

TEST(Auth, IsCompiled) {
  const Folder folder;
  folder.write("keys.yaml", "keys: [{sha256: " + std::string(64, 'a') + ", caller: x}]");
  const LoadResult result =
      load_with(folder, kSet,
                "auth:\n"
                "  api_keys_file: keys.yaml\n"
                "  header: X-Key\n"
                "  jwt: {jwks_file: jwks.json, header: X-Token, issuer: me, audience: a,\n"
                "        leeway: 5s, algorithms: [HS256]}\n"
                "  required: any\n"
                "  on_invalid: anonymous\n"
                "  forward: false\n"
                "identity: {caller: {from: [{jwt: azp}], missing: reject}}\n");
  ASSERT_THAT(result.errors, IsEmpty());
  const identity::AuthOptions& auth = result.runtime->extractor.options().auth;
  EXPECT_EQ(auth.api_key_header, "X-Key");
  EXPECT_EQ(auth.jwt.header, "X-Token");
  EXPECT_EQ(auth.jwt.issuer, "me");
  EXPECT_THAT(auth.jwt.audiences, ElementsAre("a"));
  EXPECT_EQ(auth.jwt.leeway_ms, 5000);
  EXPECT_THAT(auth.jwt.algorithms, ElementsAre(JwtAlgorithm::hs256));
  EXPECT_EQ(auth.jwt.keys->size(), 1U);
  EXPECT_EQ(auth.required, Credential::any);
  EXPECT_EQ(auth.on_invalid, identity::OnInvalid::anonymous);
  EXPECT_THAT(auth.by_path, IsEmpty());
  for (const std::string_view name : {"x-key", "x-token"}) {
    EXPECT_TRUE(result.runtime->removed_from_trusted.contains(name)) << name;
    EXPECT_TRUE(result.runtime->removed_from_others.contains(name)) << name;
  }
  EXPECT_THAT(result.files, UnorderedElementsAre(folder / "weir.yaml", folder / "keys.yaml",
                                                 folder / "jwks.json", folder / "quotas.yaml"));
  EXPECT_THAT(result.runtime->printable, HasSubstr(R"("required":"any")"));
  EXPECT_THAT(result.runtime->printable, Not(HasSubstr(std::string(kSecret))));
}

TEST(Auth, DefaultsAreStrict) {
  const Folder folder;
  const LoadResult result = load_with(folder, kSet, "auth: {jwt: {jwks_file: jwks.json}}\n");
  ASSERT_THAT(result.errors, IsEmpty());
  const identity::AuthOptions& auth = result.runtime->extractor.options().auth;
  EXPECT_EQ(auth.api_key_header, "");
  EXPECT_EQ(auth.jwt.header, "Authorization");
  EXPECT_EQ(auth.jwt.leeway_ms, 60'000);
  EXPECT_EQ(auth.required, Credential::none);
  EXPECT_EQ(auth.on_invalid, identity::OnInvalid::refuse);
  EXPECT_FALSE(result.runtime->removed_from_trusted.contains("authorization"));
}

TEST(Auth, OfARouteIsARuleForItsPath) {
  const Folder folder;
  const LoadResult result = load_with(folder, kSet,
                                      "auth: {jwt: {jwks_file: jwks.json}, required: jwt}\n"
                                      "routes: [{path: /open, auth: none}, {path: \"/**\"}]\n");
  ASSERT_THAT(result.errors, IsEmpty());
  const auto& rules = result.runtime->extractor.options().auth.by_path;
  ASSERT_EQ(rules.size(), 2U);
  EXPECT_EQ(rules[0].path.text, "/open");
  EXPECT_EQ(rules[0].required, Credential::none);
  EXPECT_EQ(rules[1].required, Credential::jwt);
}

TEST(KeySet, SkipsWhatIsNotForVerifying) {
  const std::string good = R"({"kty": "oct", "kid": "a", "x5t": 1, "k": ")" + std::string(kSecret) + R"("})";
  EXPECT_EQ(said_of(R"({"keys": [)" + good + R"(, {"kty": "RSA", "use": "enc"}], "other": {}})"), "");
  EXPECT_EQ(said_of(R"({"keys": [)" + good + R"(, {"kty": "RSA", "key_ops": ["wrapKey"]}]})"), "");
  EXPECT_THAT(said_of("{\"keys\": [" + good + ",\n{\"kty\": \"OKP\"}]}"),
              HasSubstr("jwks.json:2:3: keys[1].kty: is no key that tokens are verified with here"));
  EXPECT_THAT(
      said_of("{\"keys\": [" + good + ",\n{\"kty\": \"RSA\", \"alg\": \"RS512\"}]}"),
      HasSubstr("keys[1].alg: is not what such a key verifies here, which is RS256; the key is skipped"));
}

TEST(KeySet, FaultsHaveAPlaceAndQuoteNoKey) {
  EXPECT_THAT(said_of("{}"), HasSubstr("jwks.json:1:1: keys: is missing"));
  EXPECT_THAT(said_of("[]"), HasSubstr("keys: is missing"));
  EXPECT_THAT(said_of(""), HasSubstr("jwks.json: the file is empty"));
  EXPECT_THAT(said_of("{\"keys\": []}"), HasSubstr("holds no key"));
  EXPECT_THAT(said_of("{\"keys\": [\n 1]}"), HasSubstr("jwks.json:2:2: keys[0]: is no JSON Web Key"));
  EXPECT_THAT(said_of("{\"keys\": [\n {\"kty\": 1}]}"), HasSubstr("keys[0].kty: is no string"));
  EXPECT_THAT(said_of("{\"keys\": [\n {\"kid\": \"x\"}]}"), HasSubstr("keys[0].kty: is missing"));
  EXPECT_THAT(said_of("{\"keys\": [\n {\"kty\": \"oct\"}]}"), HasSubstr("keys[0].k: is missing"));
  const std::string weak = said_of("{\"keys\": [{\"kty\": \"oct\",\n  \"k\": \"dG9wc2VjcmV0\"}]}");
  EXPECT_THAT(weak, HasSubstr("jwks.json:2:4: keys[0].k: has 9 octets; HS256 needs at least 32"));
  EXPECT_THAT(weak, Not(HasSubstr("dG9wc2VjcmV0")));
  const std::string twice = R"({"kty": "oct", "kid": "a", "k": ")" + std::string(kSecret) + R"("})";
  EXPECT_THAT(said_of("{\"keys\": [" + twice + "," + twice + "]}"),
              HasSubstr("keys[1].kid: stands in the file twice"));
  EXPECT_THAT(said_of(R"({"keys": [{"kty": "oct", "k": "a", "k": "b"}]})"), HasSubstr("jwks.json:1:"));
}

}  // namespace
}  // namespace weir::config
