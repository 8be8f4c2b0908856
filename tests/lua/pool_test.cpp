// SPDX-License-Identifier: Apache-2.0
// lua/pool.lua on a real server, with a clock that the test sets: what a region holds is spent once, by
// whoever comes, until its end, and exactly one gateway at a time is sent for more.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "lua/script_client.hpp"
#include "redis/resp.hpp"
#include "store/pool_call.hpp"

namespace weir::redis {
extern const Script kScriptedPool;
}

namespace weir::test {
namespace {

using limit::Lease;
using store::PoolAnswer;
using store::PoolCall;
using Status = PoolAnswer::Status;

constexpr std::int64_t kStart = 1'800'000'000'000;
constexpr std::int64_t kServer = 77;
constexpr std::int64_t kTicket = 4711;
constexpr std::int64_t kHold = 2000;
constexpr std::string_view kKey = "w2:n:{c=c}:caller:fw:60000";

// What the parent says, as store::PoolWord has it; `ends_ms`: after it was asked.
struct Word {
  std::int64_t permits = 100;
  std::int64_t at_ms = 5'000'000;  // by the parent's clock
  std::int64_t life_ms = 10'000;
  std::int64_t worth = 1;
  std::int64_t remaining = 1000;
  std::int64_t tag_ms = 0;
  std::int64_t deny_ms = 0;
};

class PoolScript : public testing::Test {
 protected:
  void SetUp() override {
    client_.call({"FLUSHDB"});
    ASSERT_EQ(client_.text({"SCRIPT", "LOAD", redis::kScriptedPool.body}), redis::kScriptedPool.sha1);
  }

  redis::Reply run(PoolCall& call) {
    const redis::ScriptArguments& arguments = call.write();
    std::string request;
    redis::append_array(request, arguments.words + 3);
    redis::append_bulk(request, std::string_view("EVALSHA"));
    redis::append_bulk(request, redis::kScriptedPool.sha1);
    request.append(arguments.tail);
    redis::append_bulk(request, now_ms_);
    client_.send(request);
    redis::Reply reply = client_.receive();
    EXPECT_EQ(reply.type, redis::Reply::Type::array) << reply.text;
    return reply;
  }
  std::vector<PoolAnswer> take(const limit::ChargeSet& set, std::int64_t ticket = kTicket) {
    PoolCall call;
    call.start("take", server_);
    for (const std::int64_t value : {ticket, std::int64_t{3000}, std::int64_t{500}, kHold}) call.add(value);
    for (const limit::Charge& charge : set.charges()) call.add_layer(charge, PoolCall::Reports::yes);
    const redis::Reply reply = run(call);
    store::PoolAnswers answers(reply, ticket);
    std::vector<PoolAnswer> all(set.size);
    for (PoolAnswer& answer : all) EXPECT_TRUE(answers.read(answer));
    EXPECT_TRUE(answers.complete());
    return all;
  }
  PoolAnswer take(std::int64_t cost, Lease* lease = nullptr, std::int64_t ticket = kTicket) {
    limit::ChargeSet set;
    add_layer(set, policy_, kKey, cost).lease = lease;
    return take(set, ticket).front();
  }
  // True: what was granted can be spent.
  bool fill(const Word& word, std::int64_t ticket, std::int64_t asked_ms) {
    PoolCall call;
    call.start("fill", server_);
    call.add_key(kKey);
    for (const std::int64_t value :
         {ticket, word.permits, word.at_ms, asked_ms + word.life_ms, word.worth, asked_ms, word.remaining,
          std::int64_t{60'000}, word.tag_ms > 0 ? asked_ms + word.tag_ms : 0, word.deny_ms, std::int64_t{1},
          std::int64_t{0}, std::int64_t{0}, std::int64_t{0}, std::int64_t{0}})
      call.add(value);
    const redis::Reply reply = run(call);
    return reply.elements.at(1).integer == 1;
  }
  // Who has no ticket was refused.
  void heard(std::int64_t deny_ms) {
    PoolCall call;
    call.start("heard", server_);
    call.add_key(kKey);
    for (const std::int64_t value :
         {now_ms_, std::int64_t{0}, std::int64_t{60'000}, std::int64_t{0}, deny_ms, std::int64_t{1}})
      call.add(value);
    run(call);
  }
  PoolAnswer sweep(bool closes = false) {
    PoolCall call;
    call.start("sweep", server_);
    call.add_key(kKey);
    for (const std::int64_t value : {kTicket, kHold, std::int64_t{closes ? 1 : 0}}) call.add(value);
    const redis::Reply reply = run(call);
    store::PoolAnswers answers(reply, kTicket);
    PoolAnswer answer;
    EXPECT_TRUE(answers.read(answer));
    return answer;
  }
  void put(std::int64_t cost, std::int64_t lent, std::int64_t at_ms) {
    PoolCall call;
    call.start("put", server_);
    call.add_key(kKey);
    for (const std::int64_t value : {cost, lent, at_ms}) call.add(value);
    run(call);
  }
  // The key is asked for ten times a second for a while; the last answer, which carries an order.
  PoolAnswer warm_up() {
    PoolAnswer last;
    for (int n = 0; n < 60 && !last.order; ++n, now_ms_ += 50) last = take(1);
    EXPECT_TRUE(last.order);
    now_ms_ -= 50;
    return last;
  }
  // A region that holds a batch.
  void hold(const Word& word = {}) {
    const PoolAnswer order = warm_up();
    ASSERT_TRUE(fill(word, kTicket, order.now_ms));
  }

  std::int64_t now_ms_ = kStart;
  std::int64_t server_ = kServer;
  const limit::Policy policy_ = [] {
    limit::Policy policy;
    policy.terms = terms_of(limit::AlgorithmKind::fixed_window, 1000, 60'000);
    return policy;
  }();

  static RedisServer& server() {
    static RedisServer one;
    return one;
  }
  RespClient client_{server().port()};
};

TEST_F(PoolScript, WhoAsksNowAndThenIsNotSentForMore) {
  for (int n = 0; n < 5; ++n, now_ms_ += 2000) {
    const PoolAnswer answer = take(1);
    EXPECT_EQ(answer.status, Status::empty);
    EXPECT_EQ(answer.remaining, -1) << "nothing was heard yet";
    EXPECT_FALSE(answer.order);
  }
}

TEST_F(PoolScript, OneIsSentAtATimeAndAnotherIfItIsNotHeardOf) {
  const PoolAnswer order = warm_up();
  EXPECT_EQ(order.order->ticket, kTicket);
  EXPECT_NEAR(order.order->rate, 20, 8);
  now_ms_ += 1900;
  EXPECT_FALSE(take(1, nullptr, 1).order);
  now_ms_ += 100;
  EXPECT_TRUE(take(1, nullptr, 2).order) << "the first has died";
  EXPECT_FALSE(fill({}, kTicket, order.now_ms)) << "and comes too late";
  EXPECT_EQ(take(1, nullptr, 3).status, Status::empty);
  EXPECT_TRUE(fill({}, 2, now_ms_));
  EXPECT_EQ(take(1, nullptr, 4).status, Status::taken);
}

TEST_F(PoolScript, AnAnswerIsGoodForOnce) {
  const PoolAnswer order = warm_up();
  EXPECT_FALSE(fill({}, kTicket + 1, order.now_ms)) << "nobody has that ticket";
  EXPECT_TRUE(fill({}, kTicket, order.now_ms));
  EXPECT_FALSE(fill({}, kTicket, order.now_ms));
  EXPECT_FALSE(fill({}, 0, order.now_ms));
  const PoolAnswer answer = take(1);
  EXPECT_EQ(answer.live, 99);
  EXPECT_EQ(answer.remaining, 1099) << "what the parent has left, and what is held";
  EXPECT_EQ(answer.at_ms, Word().at_ms);
}

TEST_F(PoolScript, AnAnswerThatIsLateAddsNothing) {
  const PoolAnswer order = warm_up();
  now_ms_ += 1500;
  EXPECT_FALSE(fill({.life_ms = 1500}, kTicket, order.now_ms));
  EXPECT_EQ(take(1).live, 0);
}

TEST_F(PoolScript, ABatchEndsByTheClockThatWasReadBeforeTheParentWasAsked) {
  const PoolAnswer order = warm_up();
  now_ms_ += 1000;
  ASSERT_TRUE(fill({.life_ms = 3000}, kTicket, order.now_ms));
  now_ms_ += 1999;
  Lease lease;
  lease.more = 10;
  const PoolAnswer last = take(1, &lease);
  EXPECT_EQ(last.status, Status::taken);
  EXPECT_EQ(last.granted, 10);
  EXPECT_EQ(last.life_ms, 1) << "a gateway's lease ends with it";
  now_ms_ += 1;
  EXPECT_EQ(take(1).status, Status::empty);
  EXPECT_EQ(take(1).rest, 89);
}

TEST_F(PoolScript, WhoIsLowIsSentAheadAndTellsWhatIsOver) {
  hold({.permits = 100, .life_ms = 2000});
  Lease lease;
  lease.more = 30;
  EXPECT_EQ(take(5, &lease).granted, 30);
  now_ms_ += 300;
  // The gateway used 25, and gives 5 back.
  lease.more = 0;
  lease.back[0] = {5, Word().at_ms};
  lease.spent[0] = {25, Word().at_ms};
  EXPECT_EQ(take(0, &lease, 0).live, 70);
  now_ms_ += 1700;
  Lease more;
  more.demand = 100;
  const PoolAnswer ordered = take(1, &more);
  ASSERT_TRUE(ordered.order) << "it is over";
  EXPECT_EQ(ordered.order->back[0].count, 70);
  EXPECT_EQ(ordered.order->back[0].at_ms, Word().at_ms);
  EXPECT_EQ(ordered.order->spent[0].count, 30) << "5 at once, 25 of the gateway's lease";
  now_ms_ += kHold;
  const PoolAnswer again = take(1, &more);
  ASSERT_TRUE(again.order);
  EXPECT_EQ(again.order->back[0].count, 0) << "it is told once, whatever becomes of the telling";
  EXPECT_EQ(again.order->spent[0].count, 0);
}

TEST_F(PoolScript, TheNextBatchIsFetchedWhileThisOneLasts) {
  hold({.permits = 100, .life_ms = 60'000});
  PoolAnswer answer;
  int taken = 0;
  for (; !answer.order; ++taken, now_ms_ += 50) answer = take(1);
  EXPECT_EQ(answer.status, Status::taken);
  EXPECT_GT(taken, 70);
  EXPECT_LT(taken, 100);
  ASSERT_TRUE(fill({.permits = 50, .at_ms = 6'000'000}, kTicket, answer.now_ms));
  const PoolAnswer next = take(1);
  EXPECT_EQ(next.live, 100 - taken + 50 - 1);
  EXPECT_EQ(next.at_ms, Word().at_ms) << "the older one first";
}

TEST_F(PoolScript, WhatIsOverWithItsWindowIsNothingAnyMore) {
  hold({.life_ms = 2000, .worth = 0});
  now_ms_ += 2500;
  EXPECT_FALSE(sweep().order);
}

TEST_F(PoolScript, AKeyThatWentQuietIsLookedAt) {
  hold({.life_ms = 2000});
  const PoolAnswer early = sweep();
  EXPECT_FALSE(early.order);
  EXPECT_EQ(early.live, 100);
  EXPECT_EQ(early.live_ms, 2000);
  now_ms_ += 2500;
  const PoolAnswer late = sweep();
  ASSERT_TRUE(late.order);
  EXPECT_EQ(late.order->back[0].count, 100);
  EXPECT_FALSE(sweep().order) << "one of them does it";
}

TEST_F(PoolScript, WhoLeavesLastTakesAllAlong) {
  hold({.worth = 0});
  const PoolAnswer all = sweep(true);
  ASSERT_TRUE(all.order);
  EXPECT_EQ(all.order->back[0].count, 100);
  EXPECT_EQ(take(1, nullptr, 0).status, Status::empty);
  // A lease that comes home late.
  Lease lease;
  lease.back[0] = {7, Word().at_ms};
  EXPECT_EQ(take(0, &lease, 0).rest, 7);
  EXPECT_EQ(sweep(true).order->back[0].count, 7);
}

TEST_F(PoolScript, ARefusalIsKnownToAllForASecond) {
  const PoolAnswer order = warm_up();
  ASSERT_FALSE(fill({.permits = 0, .remaining = 0, .deny_ms = 5000}, kTicket, order.now_ms));
  const PoolAnswer denied = take(1);
  EXPECT_EQ(denied.status, Status::denied);
  EXPECT_EQ(denied.wait_ms, 5000);
  now_ms_ += 1000;
  const PoolAnswer looks = take(1);
  EXPECT_EQ(looks.status, Status::empty);
  EXPECT_TRUE(looks.order);
  EXPECT_EQ(take(1, nullptr, 2).status, Status::denied) << "while one looks, the last word stands";
}

TEST_F(PoolScript, ARefusalIsNotBelievedWhileOneIsFetching) {
  const PoolAnswer order = warm_up();
  const PoolAnswer second = take(1, nullptr, 2);
  EXPECT_FALSE(second.order);
  EXPECT_TRUE(second.fetching);
  heard(5000);
  EXPECT_EQ(take(1, nullptr, 2).status, Status::empty) << "that may be for what the fetcher took";
  ASSERT_TRUE(fill({.permits = 2, .remaining = 0, .deny_ms = 5000}, kTicket, order.now_ms));
  EXPECT_EQ(take(1).status, Status::taken);
  EXPECT_EQ(take(1).status, Status::taken);
  const PoolAnswer last = take(1);
  EXPECT_EQ(last.status, Status::denied);
  EXPECT_FALSE(last.fetching);
}

TEST_F(PoolScript, AllLayersOrNone) {
  constexpr std::string_view kOther = "w2:n:{c=c}:api:fw:60000";
  const PoolAnswer order = warm_up();
  ASSERT_FALSE(fill({.permits = 0, .remaining = 0, .deny_ms = 5000}, kTicket, order.now_ms));
  limit::ChargeSet set;
  add_layer(set, policy_, kOther);
  add_layer(set, policy_, kKey);
  for (int n = 0; n < 30; ++n) {
    const auto answers = take(set);
    EXPECT_FALSE(answers[0].order) << "a request that is refused sends nobody";
    EXPECT_EQ(answers[1].status, Status::denied);
  }
  set.charge[1].enforcement = limit::Enforcement::shadow;
  EXPECT_EQ(take(set)[0].status, Status::empty);
}

TEST_F(PoolScript, WhatAnotherStoreRefusedGoesBackToWhereItWas) {
  hold();
  Lease lease;
  lease.more = 20;
  const PoolAnswer taken = take(5, &lease);
  EXPECT_EQ(taken.live, 75);
  put(5, 20, taken.at_ms);
  EXPECT_EQ(take(1).live, 99);
  put(5, 0, taken.at_ms);
  EXPECT_EQ(take(1).live, 98) << "nobody has taken so many";
}

TEST_F(PoolScript, AServerThatMayHaveLostItsLastWritesSpendsNothing) {
  hold();
  server_ = kServer + 1;
  EXPECT_EQ(take(1).live, 0);
  Lease lease;
  lease.back[0] = {5, Word().at_ms};
  EXPECT_EQ(take(0, &lease).rest, 0);
}

TEST_F(PoolScript, AServerThatHasLostAllTakesNoOldAnswer) {
  const PoolAnswer order = warm_up();
  client_.call({"FLUSHDB"});
  EXPECT_FALSE(fill({}, kTicket, order.now_ms));
  EXPECT_EQ(take(1).live, 0);
}

TEST_F(PoolScript, AClockThatStepsBackEndsWhatIsHeld) {
  hold();
  now_ms_ -= 3'600'000;
  const PoolAnswer answer = take(1);
  EXPECT_EQ(answer.status, Status::empty);
  ASSERT_TRUE(answer.order);
  EXPECT_EQ(answer.order->back[0].count, 100) << "it goes back to the parent";
  EXPECT_TRUE(fill({.at_ms = 6'000'000}, kTicket, now_ms_));
  EXPECT_EQ(take(1).live, 99);
}

TEST_F(PoolScript, EveryKeyEnds) {
  hold({.life_ms = 10'000});
  const redis::Reply pttl = client_.call({"PTTL", store::pool_key(kKey)});
  const std::int64_t life = ScriptClient::life_of(pttl, client_.call({"TIME"}), now_ms_);
  EXPECT_GT(life, 15'000);
  EXPECT_LE(life, 17'000);
}

TEST_F(PoolScript, AForeignValueIsNoBatch) {
  client_.call({"SADD", store::pool_key(kKey), "x"});
  EXPECT_EQ(take(1).status, Status::empty);
  EXPECT_EQ(client_.text({"TYPE", store::pool_key(kKey)}), "string");
}

}  // namespace
}  // namespace weir::test
