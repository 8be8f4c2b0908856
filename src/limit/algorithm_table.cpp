// SPDX-License-Identifier: Apache-2.0
#include "limit/algorithm_table.hpp"

#include <array>

namespace weir::limit {
namespace {

struct Row {
  const Algorithm* algorithm;
  std::string_view short_name;
};

// In the order of AlgorithmKind.
constexpr std::array<Row, kAlgorithmCount> kRows{{
    {&kFixedWindow, "fw"},
    {&kSlidingWindow, "sw"},
    {&kSlidingCounter, "sc"},
    {&kSlidingLog, "sl"},
    {&kTokenBucket, "tb"},
    {&kGcra, "gc"},
    {&kLeakyBucket, "lb"},
    {&kConcurrency, "cc"},
}};

const Row& row(AlgorithmKind kind) noexcept {
  return kRows[static_cast<std::size_t>(kind)];
}

}  // namespace

const Algorithm& algorithm(AlgorithmKind kind) noexcept {
  return *row(kind).algorithm;
}

const Algorithm* algorithm(std::string_view name) noexcept {
  for (const Row& each : kRows) {
    if (each.algorithm->name == name) return each.algorithm;
  }
  return nullptr;
}

std::string_view name_of(Scope scope) noexcept {
  constexpr std::string_view names[] = {"fleet", "instance", "global"};
  return names[static_cast<std::size_t>(scope)];
}

std::string_view name_of(AlgorithmKind kind) noexcept {
  return row(kind).algorithm->name;
}

std::string_view short_name(AlgorithmKind kind) noexcept {
  return row(kind).short_name;
}

}  // namespace weir::limit
