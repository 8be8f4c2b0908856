// SPDX-License-Identifier: Apache-2.0
#include "store/counter_table.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <ios>
#include <sstream>
#include <string>

namespace weir::store {
namespace {

class NeverEvicts final : public Evictor {
 public:
  Worth worth(const Slot&) override { return Worth::keep; }
  void note_down(const Slot&) override {}
};

// Whether the mapping that holds `address` asks for huge pages ("hg" in its VmFlags).
bool asks_for_huge_pages(const void* address) {
  const auto wanted = reinterpret_cast<std::uintptr_t>(address);
  std::ifstream maps("/proc/self/smaps");
  bool inside = false;
  for (std::string line; std::getline(maps, line);) {
    std::istringstream words(line);
    std::uintptr_t from = 0, to = 0;
    char dash = 0;
    if (words >> std::hex >> from >> dash >> to && dash == '-') inside = from <= wanted && wanted < to;
    if (inside && line.starts_with("VmFlags:")) return line.find(" hg") != std::string::npos;
  }
  return false;
}

bool system_has_huge_pages() {
  return std::ifstream("/sys/kernel/mm/transparent_hugepage/enabled").good();
}

TEST(CounterTable, AsksForHugePagesOnceItsPagesAreInUse) {
  CounterTable table(100'000);
  NeverEvicts evictor;
  const std::size_t two_a_page = 2 * table.memory_bytes() / 4096;
  const auto add = [&](std::uint64_t n) {
    Slot* const slot = table.find_or_make(stable_hash128(std::to_string(n)), evictor).slot;
    slot->unlock();
    return slot;
  };
  const Slot* slot = nullptr;
  for (std::uint64_t n = 1; n < two_a_page; ++n) slot = add(n);
  EXPECT_FALSE(asks_for_huge_pages(slot)) << "a small gateway would pay for the whole table";
  add(1);
  EXPECT_FALSE(asks_for_huge_pages(slot)) << "a key that was there already counts once";
  add(two_a_page);
  EXPECT_EQ(asks_for_huge_pages(slot), system_has_huge_pages());
  EXPECT_EQ(table.live(), two_a_page);
}

}  // namespace
}  // namespace weir::store
