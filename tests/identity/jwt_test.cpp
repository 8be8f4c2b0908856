// SPDX-License-Identifier: Apache-2.0
// A token is believed only if everything about it is right.
#include "identity/jwt.hpp"

#include <gtest/gtest.h>

#include <random>

#include "identity/jwt_cache.hpp"
#include "tokens.hpp"

namespace weir::identity {
namespace {

using State = JwtClaims::State;
using test::Signer;
using test::to_base64url;

constexpr std::int64_t kNow = 1'800'000'000'000;
constexpr std::string_view kGood = R"({"azp":"shop","exp":1800000100})";

const Signer& signer(JwtAlgorithm algorithm) {
  static const Signer hs(JwtAlgorithm::hs256), rs(JwtAlgorithm::rs256), es(JwtAlgorithm::es256);
  return algorithm == JwtAlgorithm::hs256 ? hs : algorithm == JwtAlgorithm::rs256 ? rs : es;
}

JwtOptions options_of(std::initializer_list<const Signer*> signers) {
  JwtOptions options;
  options.keys = test::keys_of(signers);
  return options;
}

AuthFault fault_of(const JwtOptions& options, std::string_view token, std::int64_t now = kNow) {
  const JwtOutcome outcome = JwtVerifier(options, {"azp"}).verify(token, now);
  const bool timely = outcome.fault == AuthFault::none || outcome.fault == AuthFault::expired ||
                      outcome.fault == AuthFault::not_yet_valid;
  EXPECT_EQ(outcome.claims != nullptr, timely);
  return outcome.fault;
}

JwtClaims::Claim claim_of(std::string_view payload, const std::string& name) {
  const Signer& hs = signer(JwtAlgorithm::hs256);
  const JwtOutcome outcome = JwtVerifier(options_of({&hs}), {name}).verify(hs.token(payload), kNow);
  EXPECT_EQ(outcome.fault, AuthFault::none);
  return outcome.claims == nullptr ? JwtClaims::Claim() : outcome.claims->claims.at(0);
}

class EveryAlgorithm : public testing::TestWithParam<JwtAlgorithm> {
 protected:
  const Signer& own_ = signer(GetParam());
  const JwtOptions options_ = options_of({&own_});
};

TEST_P(EveryAlgorithm, VerifiesItsOwn) {
  const JwtOutcome outcome = JwtVerifier(options_, {"azp"}).verify(own_.token(kGood), kNow);
  ASSERT_EQ(outcome.fault, AuthFault::none);
  EXPECT_EQ(outcome.claims->claims[0].text, "shop");
}

TEST_P(EveryAlgorithm, RefusesAnotherKeyOfTheSameName) {
  const Signer stranger(GetParam());
  EXPECT_EQ(fault_of(options_, stranger.token(kGood)), AuthFault::signature);
}

TEST_P(EveryAlgorithm, RefusesAnotherKid) {
  const Signer stranger(GetParam(), "k2");
  EXPECT_EQ(fault_of(options_, stranger.token(kGood)), AuthFault::unknown_key);
}

// Whatever single bit of a token is changed, it is not believed.
TEST_P(EveryAlgorithm, RefusesEveryFlippedBit) {
  const std::string good = own_.token(kGood);
  for (std::size_t at = 0; at < good.size(); ++at) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ (1 << at % 7));
    EXPECT_NE(fault_of(options_, bad), AuthFault::none) << at;
  }
}

TEST_P(EveryAlgorithm, RefusesEveryTruncation) {
  const std::string good = own_.token(kGood);
  for (std::size_t size = 0; size < good.size(); ++size) {
    EXPECT_NE(fault_of(options_, good.substr(0, size)), AuthFault::none) << size;
  }
  EXPECT_NE(fault_of(options_, good + "A"), AuthFault::none);
  EXPECT_NE(fault_of(options_, good + "="), AuthFault::none);
  EXPECT_NE(fault_of(options_, good + ".x"), AuthFault::none);
}

TEST_P(EveryAlgorithm, RefusesASignatureOfAnotherSize) {
  const std::string name(name_of(GetParam()));
  const std::string text =
      to_base64url(R"({"alg":")" + name + R"(","kid":"k1"})") + "." + to_base64url(kGood);
  for (const std::size_t size : {0U, 1U, 31U, 33U, 63U, 65U, 255U, 257U, 4096U}) {
    EXPECT_EQ(fault_of(options_, text + "." + to_base64url(std::string(size, '\0'))), AuthFault::signature);
  }
  EXPECT_EQ(fault_of(options_, text + "." + to_base64url(std::string(64, '\0'))), AuthFault::signature);
}

TEST_P(EveryAlgorithm, IsRefusedWhereItIsNotAllowed) {
  JwtOptions options = options_;
  std::erase(options.algorithms, GetParam());
  EXPECT_EQ(fault_of(options, own_.token(kGood)), AuthFault::algorithm);
}

INSTANTIATE_TEST_SUITE_P(Jwt, EveryAlgorithm,
                         testing::Values(JwtAlgorithm::hs256, JwtAlgorithm::rs256, JwtAlgorithm::es256),
                         [](const auto& info) { return std::string(name_of(info.param)); });

TEST(JwtAlgorithmName, NoneIsNoAlgorithm) {
  const JwtOptions options = options_of({&signer(JwtAlgorithm::hs256)});
  for (const char* name : {"none", "None", "NONE", "HS512", "hs256", "RS512", "PS256", ""}) {
    const std::string head = to_base64url(R"({"alg":")" + std::string(name) + R"(","kid":"k1"})");
    const std::string text = head + "." + to_base64url(kGood);
    EXPECT_NE(fault_of(options, text + "."), AuthFault::none) << name;
    const std::string mac = to_base64url(test::hmac(signer(JwtAlgorithm::hs256).secret(), text));
    EXPECT_NE(fault_of(options, text + "." + mac), AuthFault::none) << name;
  }
  EXPECT_EQ(fault_of(options, to_base64url(R"({"alg":"none"})") + "." + to_base64url(kGood) + "."),
            AuthFault::algorithm);
}

// The classic: the public RSA key, which everybody knows, as the secret of an HMAC.
TEST(JwtAlgorithmName, APublicKeyNeverServesAsASecret) {
  const Signer& rs = signer(JwtAlgorithm::rs256);
  const Signer& hs = signer(JwtAlgorithm::hs256);
  const std::string text = to_base64url(R"({"alg":"HS256","kid":"k1"})") + "." + to_base64url(kGood);
  const std::string n = rs.written().n;
  for (const std::string& secret :
       {rs.public_pem(), rs.public_pem().substr(0, rs.public_pem().size() - 1), n}) {
    const std::string forged = text + "." + to_base64url(test::hmac(secret, text));
    EXPECT_EQ(fault_of(options_of({&rs}), forged), AuthFault::unknown_key);
    EXPECT_EQ(fault_of(options_of({&rs, &hs}), forged), AuthFault::signature);
  }
}

TEST(JwtHeader, IsReadStrictly) {
  const Signer& hs = signer(JwtAlgorithm::hs256);
  const JwtOptions options = options_of({&hs});
  const auto fault = [&](std::string_view header) { return fault_of(options, hs.token_with(header, kGood)); };
  EXPECT_EQ(fault(R"({"alg":"HS256","kid":"k1","typ":"JWT"})"), AuthFault::none);
  EXPECT_EQ(fault(R"({"alg":"HS256"})"), AuthFault::none);
  for (const char* header :
       {R"({"alg":"HS256","kid":"k1","crit":["b64"],"b64":false})", R"({"alg":"HS256","crit":[]})",
        R"({"alg":"HS256","alg":"HS256"})", R"({"alg":"none","alg":"HS256"})", R"({"alg":["HS256"]})",
        R"({"alg":"HS256","kid":1})", R"({"kid":"k1"})", R"(["HS256"])", R"("HS256")", R"({"alg":"HS256"} x)",
        R"({"alg":"HS256"}{})", R"({"alg":"HS256",})", "{", "", "null", "{\"alg\":\"HS256\",\"a\":\"\xff\"}",
        R"({"alg":"HS256","a":[[[[[[[[[[[[1]]]]]]]]]]]]})"}) {
    EXPECT_EQ(fault(header), AuthFault::malformed) << header;
  }
}

TEST(JwtHeader, WithoutAKidNeedsAnOnlyChoice) {
  const Signer first(JwtAlgorithm::hs256, "a");
  const Signer second(JwtAlgorithm::hs256, "b");
  const std::string token = first.token_with(R"({"alg":"HS256"})", kGood);
  EXPECT_EQ(fault_of(options_of({&first, &signer(JwtAlgorithm::es256)}), token), AuthFault::none);
  EXPECT_EQ(fault_of(options_of({&first, &second}), token), AuthFault::unknown_key);
}

TEST(JwtTimes, HaveALeeway) {
  const Signer& hs = signer(JwtAlgorithm::hs256);
  JwtOptions options = options_of({&hs});
  const auto fault = [&](std::string_view payload) { return fault_of(options, hs.token(payload)); };
  EXPECT_EQ(fault("{}"), AuthFault::none);
  EXPECT_EQ(fault(R"({"exp":1799999941})"), AuthFault::none);
  EXPECT_EQ(fault(R"({"exp":1799999940})"), AuthFault::expired);
  EXPECT_EQ(fault(R"({"exp":0})"), AuthFault::expired);
  EXPECT_EQ(fault(R"({"nbf":1800000060})"), AuthFault::none);
  EXPECT_EQ(fault(R"({"nbf":1800000061})"), AuthFault::not_yet_valid);
  EXPECT_EQ(fault(R"({"iat":1800000061})"), AuthFault::not_yet_valid);
  EXPECT_EQ(fault(R"({"nbf":0,"iat":1800000061})"), AuthFault::not_yet_valid);
  options.leeway_ms = 0;
  EXPECT_EQ(fault(R"({"exp":1800000000})"), AuthFault::expired);
  EXPECT_EQ(fault(R"({"exp":1800000000.5})"), AuthFault::none);
}

TEST(JwtTimes, OfAnotherTypeAreNoTimes) {
  const Signer& hs = signer(JwtAlgorithm::hs256);
  for (const char* value :
       {"\"1800000100\"", "[1800000100]", "{}", "null", "true", "1e300", "18446744073709551615"}) {
    for (const char* name : {"exp", "nbf", "iat"}) {
      const std::string payload = "{\"" + std::string(name) + "\":" + value + "}";
      EXPECT_EQ(fault_of(options_of({&hs}), hs.token(payload)), AuthFault::malformed) << payload;
    }
  }
}

TEST(JwtIssuerAndAudience, AreCheckedWhereConfigured) {
  const Signer& hs = signer(JwtAlgorithm::hs256);
  JwtOptions options = options_of({&hs});
  options.issuer = "https://login.test";
  options.audiences = {"gateway", "edge"};
  const auto fault = [&](std::string_view payload) { return fault_of(options, hs.token(payload)); };
  EXPECT_EQ(fault(R"({"iss":"https://login.test","aud":"edge"})"), AuthFault::none);
  EXPECT_EQ(fault(R"({"iss":"https://login.test","aud":["x","gateway"]})"), AuthFault::none);
  EXPECT_EQ(fault(R"({"aud":"edge"})"), AuthFault::issuer);
  EXPECT_EQ(fault(R"({"iss":"https://login.test/","aud":"edge"})"), AuthFault::issuer);
  EXPECT_EQ(fault(R"({"iss":["https://login.test"],"aud":"edge"})"), AuthFault::issuer);
  for (const char* aud :
       {"\"\"", "\"edge2\"", "[]", "[\"x\"]", "[[\"edge\"]]", "{\"edge\":1}", "1", "null"}) {
    EXPECT_EQ(fault(R"({"iss":"https://login.test","aud":)" + std::string(aud) + "}"), AuthFault::audience)
        << aud;
  }
  EXPECT_EQ(fault(R"({"iss":"https://login.test"})"), AuthFault::audience);
}

TEST(JwtClaim, IsATextOrAWholeNumber) {
  EXPECT_EQ(claim_of(R"({"azp":"shop"})", "azp").text, "shop");
  EXPECT_EQ(claim_of(R"({"azp":42})", "azp").text, "42");
  EXPECT_EQ(claim_of(R"({"azp":18446744073709551615})", "azp").text, "18446744073709551615");
  EXPECT_EQ(claim_of(R"({"sub":"shop"})", "azp").state, State::absent);
  for (const char* value :
       {"[\"shop\"]", "[]", "{\"a\":\"shop\"}", "true", "null", "1.5", "18446744073709551617"}) {
    EXPECT_EQ(claim_of("{\"azp\":" + std::string(value) + "}", "azp").state, State::unusable) << value;
  }
}

TEST(JwtClaim, IsFoundByDots) {
  constexpr std::string_view payload =
      R"({"realm":{"tenant":{"id":7}},"a.b":"whole","a":{"b":"nested"},"x":1})";
  EXPECT_EQ(claim_of(payload, "realm.tenant.id").text, "7");
  EXPECT_EQ(claim_of(payload, "realm.tenant").state, State::unusable);
  EXPECT_EQ(claim_of(payload, "realm.none").state, State::absent);
  EXPECT_EQ(claim_of(payload, "a.b").text, "whole");
  EXPECT_EQ(claim_of(payload, "x.y").state, State::absent);
}

TEST(JwtClaim, MayBeAsLargeAsTheTokenAllows) {
  const Signer& hs = signer(JwtAlgorithm::hs256);
  const std::string large(11'000, 'a');
  EXPECT_EQ(claim_of(R"({"azp":")" + large + R"("})", "azp").text, large);
  const std::string token = hs.token(R"({"azp":")" + std::string(16 * 1024, 'a') + R"("})");
  EXPECT_EQ(fault_of(options_of({&hs}), token), AuthFault::malformed);
}

TEST(JwtPayload, IsReadStrictly) {
  const Signer& hs = signer(JwtAlgorithm::hs256);
  for (const char* payload :
       {R"({"azp":"a","azp":"b"})", R"({"x":{"y":1,"y":1}})", R"({"x":[{"y":1,"y":1}]})",
        R"({"az\u0070":"a","azp":"b"})", "[]", "\"azp\"", "", "{", "{} {}", "{\"a\":\"\xc3\"}"}) {
    EXPECT_EQ(fault_of(options_of({&hs}), hs.token(payload)), AuthFault::malformed) << payload;
  }
}

TEST(JwtBase64, HasOneSpelling) {
  const Signer& hs = signer(JwtAlgorithm::hs256);
  const JwtOptions options = options_of({&hs});
  const std::string good = hs.token(kGood);
  const std::size_t dot = good.rfind('.');
  EXPECT_EQ(fault_of(options, good.substr(0, dot) + ". " + good.substr(dot + 1)), AuthFault::malformed);
  EXPECT_EQ(fault_of(options, good.substr(0, dot) + ".\n" + good.substr(dot + 1)), AuthFault::malformed);
  // 43 characters hold 258 bits, two more than the signature: they have to be zero.
  std::string other = good;
  other.back() = static_cast<char>(other.back() + 1);
  EXPECT_EQ(fault_of(options, other), AuthFault::malformed);
}

TEST(JwtVerifier, SurvivesRandomOctets) {
  std::mt19937 random(1);
  std::vector<const Signer*> all{&signer(JwtAlgorithm::hs256), &signer(JwtAlgorithm::rs256),
                                 &signer(JwtAlgorithm::es256)};
  const JwtOptions options = options_of({all[0], all[1], all[2]});
  for (int n = 0; n < 20'000; ++n) {
    std::string token;
    if (n % 2 == 0) {
      token.resize(random() % 200);
      for (char& c : token) c = static_cast<char>(random());
    } else {
      token = all[random() % 3]->token_with(R"({"alg":"HS256","kid":"k1"})", kGood);
      for (unsigned edits = 0; edits <= random() % 3; ++edits) {
        token[random() % token.size()] = static_cast<char>(random());
      }
    }
    const JwtOutcome outcome = JwtVerifier(options, {"azp"}).verify(token, kNow);
    EXPECT_TRUE(outcome.fault != AuthFault::none || outcome.claims->claims[0].text == "shop");
  }
}

TEST(JwtKeySet, TakesOnlyStrongKeysOfKnownKinds) {
  const auto add = [](const WrittenKey& key) {
    JwtKeys keys;
    JwtKeys::Fault fault;
    const auto use = keys.add(key, fault);
    EXPECT_EQ(keys.size(), use == JwtKeys::Use::taken ? 1U : 0U);
    EXPECT_EQ(fault.why.empty(), use == JwtKeys::Use::taken);
    return std::pair(use, fault.member);
  };
  using Use = JwtKeys::Use;
  const WrittenKey rsa = signer(JwtAlgorithm::rs256).written();
  const WrittenKey ec = signer(JwtAlgorithm::es256).written();
  const auto with = [](WrittenKey key, std::string WrittenKey::* member, std::string value) {
    key.*member = std::move(value);
    return key;
  };
  EXPECT_EQ(add(rsa).first, Use::taken);
  EXPECT_EQ(add(with(rsa, &WrittenKey::alg, "")).first, Use::taken);
  EXPECT_EQ(add(with(rsa, &WrittenKey::alg, "HS256")), std::pair(Use::unsupported, std::string("alg")));
  EXPECT_EQ(add(with(rsa, &WrittenKey::alg, "RS512")).first, Use::unsupported);
  EXPECT_EQ(add(with(rsa, &WrittenKey::kty, "OKP")).first, Use::unsupported);
  EXPECT_EQ(add(with(ec, &WrittenKey::crv, "P-384")).first, Use::unsupported);
  EXPECT_EQ(add(with(rsa, &WrittenKey::n, "AQAB")), std::pair(Use::wrong, std::string("n")));
  EXPECT_EQ(add(with(rsa, &WrittenKey::n, "a=")), std::pair(Use::wrong, std::string("n")));
  EXPECT_EQ(add(with(rsa, &WrittenKey::e, "AQ")), std::pair(Use::wrong, std::string("e")));
  EXPECT_EQ(add(with(rsa, &WrittenKey::e, "")), std::pair(Use::wrong, std::string("e")));
  EXPECT_EQ(add(with(ec, &WrittenKey::y, ec.x)), std::pair(Use::wrong, std::string("x")));
  EXPECT_EQ(add(with(ec, &WrittenKey::y, "AQAB")), std::pair(Use::wrong, std::string("x")));
  WrittenKey weak;
  weak.kty = "oct";
  weak.k = to_base64url(std::string(31, 'k'));
  EXPECT_EQ(add(weak), std::pair(Use::wrong, std::string("k")));
}

TEST(JwtKeySet, HasEachNameOnce) {
  JwtKeys keys;
  JwtKeys::Fault fault;
  const Signer other(JwtAlgorithm::hs256);
  EXPECT_EQ(keys.add(signer(JwtAlgorithm::hs256).written(), fault), JwtKeys::Use::taken);
  EXPECT_EQ(keys.add(other.written(), fault), JwtKeys::Use::wrong);
  EXPECT_EQ(fault.member, "kid");
}

TEST(JwtCacheOfOneConfiguration, ForgetsWhatIsLeastUsed) {
  const Signer& hs = signer(JwtAlgorithm::hs256);
  const JwtVerifier verifier(options_of({&hs}), {"azp"});
  const JwtCache cache(320);
  const std::string hot = hs.token(kGood);
  const auto first = cache.verify(verifier, hot, kNow).claims;
  for (int n = 0; n < 3000; ++n) {
    const std::string token = hs.token(R"({"azp":")" + std::to_string(n) + R"("})");
    EXPECT_EQ(cache.verify(verifier, token, kNow).claims->claims[0].text, std::to_string(n));
    EXPECT_EQ(cache.verify(verifier, hot, kNow).claims, first) << "it was used all along";
    ASSERT_LE(cache.size(), 320U);
  }
}

TEST(JwtCacheOfOneConfiguration, JudgesTheTimeAnewAndKeepsNoFailure) {
  const Signer& hs = signer(JwtAlgorithm::hs256);
  const JwtVerifier verifier(options_of({&hs}), {"azp"});
  const JwtCache cache;
  const std::string token = hs.token(kGood);
  EXPECT_EQ(cache.verify(verifier, token, kNow).fault, AuthFault::none);
  EXPECT_EQ(cache.verify(verifier, token, kNow + 159'999).fault, AuthFault::none);
  EXPECT_EQ(cache.verify(verifier, token, kNow + 160'000).fault, AuthFault::expired);
  EXPECT_EQ(cache.verify(verifier, token + "x", kNow).fault, AuthFault::signature);
  EXPECT_EQ(cache.verify(verifier, std::string(20'000, 'a'), kNow).fault, AuthFault::malformed);
  EXPECT_EQ(cache.size(), 1U);
}

}  // namespace
}  // namespace weir::identity
