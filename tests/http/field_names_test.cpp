// SPDX-License-Identifier: Apache-2.0
#include "weir/http/field_names.hpp"

#include <gtest/gtest.h>

#include "http/characters.hpp"
#include "weir/http/message.hpp"

namespace weir::http {
namespace {

TEST(FieldNames, AreFoundInAnyCaseAndOfAnyLength) {
  const std::string longest(100, 'n');
  const FieldNames names{"Host", "x-forwarded-for", "te", "x-real-ip", "host", longest, longest + "n"};
  for (const std::string_view each : {"host", "HOST", "X-Forwarded-For", "TE", "X-Real-IP"}) {
    EXPECT_TRUE(names.contains(each)) << each;
  }
  EXPECT_TRUE(names.contains(longest));
  EXPECT_TRUE(names.contains(longest + "N"));
  for (const std::string_view each : {"", "hos", "hosts", "x-forwarded-fox", "x_real_ip"}) {
    EXPECT_FALSE(names.contains(each)) << each;
  }
  EXPECT_FALSE(names.contains(longest + "nn"));
  EXPECT_FALSE(FieldNames().contains("host"));
}

TEST(Fields, AreFoundByNameInTheirOrder) {
  Fields fields{{"Accept", "a"}, {"Cookie", "b"}, {"accept", "c"}};
  fields.emplace_back("ACCEPT", "d");
  std::string values;
  fields.each("Accept", [&values](const Field& field) { values += field.value; });
  EXPECT_EQ(values, "acd");
  ASSERT_NE(fields.find("COOKIE"), nullptr);
  EXPECT_EQ(fields.find("cookie")->value, "b");
  EXPECT_EQ(fields.find("host"), nullptr);
  fields.erase_if([](const Field& field) { return field.is("cookie"); });
  EXPECT_EQ(fields.find("cookie"), nullptr);
  EXPECT_EQ(fields.size(), 3u);
  // More names than there are bits: each is still found, and no other.
  for (int n = 0; n < 200; ++n) {
    const std::string name = "x-" + std::to_string(n);
    EXPECT_EQ(fields.find(name), nullptr) << name;
    Fields one{{name, "v"}};
    EXPECT_NE(one.find("X-" + std::to_string(n)), nullptr) << name;
  }
  fields.clear();
  EXPECT_FALSE(fields.may_have("accept"));
}

// Every octet at every place of texts of every length up to three words.
TEST(Names, CompareAsTheirLettersDo) {
  for (std::size_t size = 1; size <= 24; ++size) {
    for (std::size_t at = 0; at < size; ++at) {
      std::string a(size, 'q');
      std::string b(size, 'Q');
      for (int octet = 0; octet < 256; ++octet) {
        for (const int other : {octet, octet ^ 0x20, octet ^ 0x80, int{'a'}}) {
          a[at] = static_cast<char>(octet);
          b[at] = static_cast<char>(other);
          ASSERT_EQ(iequals(a, b), lower(a[at]) == lower(b[at])) << size << ' ' << at << ' ' << octet;
          if (iequals(a, b)) ASSERT_EQ(folded_hash(a), folded_hash(b)) << size << ' ' << at << ' ' << octet;
        }
      }
    }
  }
  EXPECT_TRUE(iequals("", ""));
  EXPECT_FALSE(iequals("a", "ab"));
}

}  // namespace
}  // namespace weir::http
