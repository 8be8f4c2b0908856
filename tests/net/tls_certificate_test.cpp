// SPDX-License-Identifier: Apache-2.0
#include "net/tls_certificate.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ctime>

#include "net/tls_context.hpp"
#include "support/certificates.hpp"

namespace weir::net {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Match = TlsCertificate::Match;

class TlsCertificateTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    made_ = new test::Certificates;
    made_->issue("plain", "DNS:a.test,DNS:*.b.test,URI:spiffe://weir/one,email:x@a.test");
    made_->issue("other", "DNS:c.test,DNS:x.b.test");
    made_->issue("nameless", "");
    made_->issue("expired", "DNS:a.test", "20200101000000Z", "20200201000000Z");
    made_->encrypt_key("plain", "sealed");
  }
  static void TearDownTestSuite() {
    delete made_;
    made_ = nullptr;
  }

  // Why the pair does not load; empty if it does.
  static std::string fault(const TlsFile& certificate, const TlsFile& key) {
    std::string why;
    const auto loaded = TlsCertificate::load(certificate, key, {}, why);
    return loaded == nullptr ? why : "";
  }

  static test::Certificates* made_;
};

test::Certificates* TlsCertificateTest::made_ = nullptr;

TEST_F(TlsCertificateTest, AWildcardCoversOneLabel) {
  EXPECT_EQ(match_server_name("a.test", "A.TEST"), Match::exact);
  EXPECT_EQ(match_server_name("*.a.test", "x.a.Test"), Match::wildcard);
  EXPECT_EQ(match_server_name("*.a.test", "a.test"), Match::none);
  EXPECT_EQ(match_server_name("*.a.test", ".a.test"), Match::none);
  EXPECT_EQ(match_server_name("*.a.test", "x.y.a.test"), Match::none);
  EXPECT_EQ(match_server_name("a.test", "b.test"), Match::none);
  EXPECT_EQ(match_server_name("*", "a"), Match::none);
  EXPECT_EQ(match_server_name("a.test", ""), Match::none);
}

TEST_F(TlsCertificateTest, AnExactNameGoesBeforeAWildcardAndTheFirstIsTheDefault) {
  const std::shared_ptr<const TlsCertificate> both[] = {made_->load("plain"), made_->load("other")};
  EXPECT_EQ(choose_certificate(both, "a.test"), 0u);
  EXPECT_EQ(choose_certificate(both, "y.b.test"), 0u);
  EXPECT_EQ(choose_certificate(both, "x.b.test"), 1u);
  EXPECT_EQ(choose_certificate(both, "c.test"), 1u);
  EXPECT_EQ(choose_certificate(both, "unknown.test"), 0u);
  EXPECT_EQ(choose_certificate(both, ""), 0u);
}

TEST_F(TlsCertificateTest, NamesComeFromTheCertificateAndTheCommonNameStandsIn) {
  EXPECT_THAT(made_->load("plain")->names(), ::testing::ElementsAre("a.test", "*.b.test"));
  EXPECT_THAT(made_->load("nameless")->names(), ::testing::ElementsAre("nameless"));
  EXPECT_GT(made_->load("plain")->not_after_s(), std::time(nullptr));
}

TEST_F(TlsCertificateTest, APeerIsDescribedByItsSubjectAndNames) {
  const TlsPeer peer = describe_peer(made_->load("plain")->leaf());
  EXPECT_EQ(peer.common_name, "plain");
  EXPECT_EQ(peer.subject, "O=weir,CN=plain");
  EXPECT_EQ(peer.san_dns, "a.test");
  EXPECT_EQ(peer.san_uri, "spiffe://weir/one");
  EXPECT_EQ(peer.san_email, "x@a.test");
}

TEST_F(TlsCertificateTest, WhatDoesNotFitIsRefusedWithItsFileAndReason) {
  const TlsFile good = made_->read("plain.pem");
  const TlsFile key = made_->read("plain.key");
  EXPECT_EQ(fault(good, key), "");
  EXPECT_EQ(fault(good, made_->read("other.key")),
            "other.key: the key does not belong to the certificate in plain.pem");
  EXPECT_THAT(fault(good, made_->read("sealed.key")), HasSubstr("sealed.key: the key is encrypted"));
  EXPECT_THAT(fault(good, good), HasSubstr("plain.pem: holds no private key"));
  EXPECT_THAT(fault(key, key), HasSubstr("plain.key: holds no certificate"));
  EXPECT_THAT(fault({"empty.pem", ""}, key), HasSubstr("empty.pem: holds no certificate"));
}

TEST_F(TlsCertificateTest, ItsTimeOfValidityIsJudgedAtATime) {
  const auto expired = made_->load("expired");
  constexpr std::int64_t kBegin = 1577836800, kEnd = 1580515200;  // 2020-01-01, 2020-02-01
  EXPECT_EQ(expired->validity_fault(kBegin - 1), "is not valid before 2020-01-01T00:00:00Z");
  EXPECT_EQ(expired->validity_fault(kBegin), "");
  EXPECT_EQ(expired->validity_fault(kEnd - 1), "");
  EXPECT_EQ(expired->validity_fault(kEnd), "expired at 2020-02-01T00:00:00Z");
  EXPECT_TRUE(expired->is_same(*made_->load("expired")));
  EXPECT_FALSE(expired->is_same(*made_->load("plain")));
}

TEST_F(TlsCertificateTest, NoMessageQuotesAKey) {
  const TlsFile key = made_->read("plain.key");
  const std::string inside = key.bytes.substr(key.bytes.find('\n') + 1, 20);
  EXPECT_THAT(fault(key, key), Not(HasSubstr(inside)));
  EXPECT_THAT(fault(made_->read("other.pem"), key), Not(HasSubstr(inside)));
}

TEST_F(TlsCertificateTest, AnAuthorityFileWithoutCertificatesIsRefused) {
  TicketKeys keys(system_clock());
  std::string why;
  TlsServerOptions server;
  server.certificates = {made_->load("plain")};
  server.client_certificate = TlsServerOptions::ClientCertificate::required;
  server.client_ca = {"clients.pem", "nothing"};
  server.ticket_keys = &keys;
  EXPECT_EQ(TlsServerContext::make(server, why), nullptr);
  EXPECT_EQ(why, "clients.pem: holds no certificate in PEM form");
  TlsClientOptions client;
  client.ca = {"authorities.pem", "nothing"};
  EXPECT_EQ(TlsClientContext::make(client, why), nullptr);
  EXPECT_EQ(why, "authorities.pem: holds no certificate in PEM form");
}

class SetClock final : public Clock {
 public:
  std::int64_t monotonic_ms() const noexcept override { return now_ms; }
  std::int64_t wall_ms() const noexcept override { return now_ms; }
  std::int64_t now_ms = 1000;
};

TEST(TicketKeysTest, AKeyOpensItsTicketsForOneTurnMore) {
  SetClock clock;
  TicketKeys keys(clock);
  const TicketKeys::Key first = keys.current();
  ASSERT_TRUE(first.usable);
  EXPECT_EQ(keys.current().name, first.name);
  clock.now_ms += TicketKeys::kRotateMs;
  EXPECT_NE(keys.current().name, first.name);
  EXPECT_TRUE(keys.find(first.name.data()).usable);
  EXPECT_FALSE(keys.is_current(first));
  clock.now_ms += TicketKeys::kRotateMs;
  EXPECT_FALSE(keys.find(first.name.data()).usable);
}

}  // namespace
}  // namespace weir::net
