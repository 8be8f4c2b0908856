// SPDX-License-Identifier: Apache-2.0
#include "lua/script_client.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "redis/resp.hpp"
#include "store/chain_call.hpp"

namespace weir::test {

ScriptClient::ScriptClient(std::uint16_t port) : client_(port) {
  EXPECT_EQ(client_.text({"SCRIPT", "LOAD", redis::kScriptedChain.body}), redis::kScriptedChain.sha1);
}

void ScriptClient::add(std::string& batch, const redis::ScriptArguments& arguments,
                       std::int64_t now_ms) const {
  redis::append_array(batch, arguments.words + 3);
  redis::append_bulk(batch, std::string_view("EVALSHA"));
  redis::append_bulk(batch, redis::kScriptedChain.sha1);
  batch.append(arguments.tail);
  redis::append_bulk(batch, now_ms);
}

void ScriptClient::add_question(std::string& batch, const limit::ChargeSet& set, std::string_view operation,
                                std::int64_t now_ms) const {
  store::ChainCall call;
  call.start(operation, set.accounting);
  ASSERT_TRUE(call.add(set));
  redis::ScriptArguments arguments;
  call.write(arguments);
  add(batch, arguments, now_ms);
}

void ScriptClient::add_notice(std::string& batch, const limit::ChargeSet& set, std::string_view operation,
                              std::int64_t delta, std::int64_t now_ms) const {
  store::ChainCall call;
  call.start(operation, set.store_now_ms);
  ASSERT_TRUE(call.add_notice(set, delta));
  redis::ScriptArguments arguments;
  call.write(arguments);
  add(batch, arguments, now_ms);
}

void ScriptClient::ask(limit::ChargeSet& set, std::string_view operation, std::int64_t now_ms) {
  std::string batch;
  add_question(batch, set, operation, now_ms);
  client_.send(batch);
  const redis::Reply reply = client_.receive();
  ASSERT_TRUE(read_answer(reply, set)) << reply.text;
}

void ScriptClient::notify(const limit::ChargeSet& set, std::string_view operation, std::int64_t delta,
                          std::int64_t now_ms) {
  std::string batch;
  add_notice(batch, set, operation, delta, now_ms);
  client_.send(batch);
  const redis::Reply reply = client_.receive();
  ASSERT_EQ(reply.type, redis::Reply::Type::array) << reply.text;
}

std::int64_t ScriptClient::life_of(const redis::Reply& pttl, const redis::Reply& time, std::int64_t now_ms) {
  EXPECT_GT(pttl.integer, 0);
  const std::int64_t real_ms =
      std::stoll(time.elements.at(0).text) * 1000 + std::stoll(time.elements.at(1).text) / 1000;
  return pttl.integer + real_ms - kLongerMs - now_ms;
}

std::int64_t ScriptClient::life_of(std::string_view key, std::int64_t now_ms) {
  const redis::Reply pttl = client_.call({"PTTL", key});
  return life_of(pttl, client_.call({"TIME"}), now_ms);
}

bool read_answer(const redis::Reply& reply, limit::ChargeSet& set) {
  store::ChainAnswers answers(reply);
  return answers.read(set) && answers.complete() && !set.store_error;
}

limit::Charge& add_layer(limit::ChargeSet& set, const limit::Policy& policy, std::string_view key,
                         std::int64_t cost) {
  char* const place = set.keys.data() + set.keys_used;
  std::memcpy(place, key.data(), key.size());
  set.keys_used += key.size();
  limit::Charge& charge = set.charge[set.size++];
  charge = limit::Charge();
  charge.policy = &policy;
  charge.key = {place, key.size()};
  charge.request.cost = cost;
  charge.request.owner = 1;
  charge.enforcement = policy.enforcement;
  return charge;
}

limit::Terms terms_of(limit::AlgorithmKind kind, std::int64_t limit, std::int64_t window_ms) {
  limit::Terms terms;
  terms.algorithm = kind;
  terms.limit = limit;
  terms.window_ms = window_ms;
  terms.burst = limit;
  terms.cells = 10;
  return terms;
}

}  // namespace weir::test
