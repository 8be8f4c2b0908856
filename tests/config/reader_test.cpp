// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "config/yaml_reader.hpp"

namespace weir::config {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

struct ReadText {
  std::optional<Node> tree;
  std::vector<std::string> errors;
};

ReadText yaml(std::string_view text, Environment environment = Environment::keep) {
  Diagnostics diagnostics;
  diagnostics.add_file("f");
  ReadText out;
  out.tree = read_yaml(text, 0, environment, diagnostics);
  out.errors = diagnostics.lines(Severity::error);
  return out;
}

ReadText json(std::string_view text) {
  Diagnostics diagnostics;
  diagnostics.add_file("f");
  ReadText out;
  out.tree = read_json(text, 0, diagnostics);
  out.errors = diagnostics.lines(Severity::error);
  return out;
}

TEST(Yaml, KeepsOrderAndPositions) {
  const ReadText read = yaml("a: 1\nbb:\n  - x\n  - {c: \"q\", d: }\n");
  EXPECT_THAT(read.errors, IsEmpty());
  ASSERT_TRUE(read.tree);
  const Node& root = *read.tree;
  ASSERT_EQ(root.entries.size(), 2U);
  EXPECT_EQ(root.entries[0].key, "a");
  EXPECT_EQ(root.entries[0].at, (Position{0, 1, 1}));
  EXPECT_EQ(root.entries[0].value.at, (Position{0, 1, 4}));
  EXPECT_EQ(root.entries[0].value.text, "1");
  const Node& list = root.entries[1].value;
  ASSERT_EQ(list.items.size(), 2U);
  EXPECT_EQ(list.items[0].at, (Position{0, 3, 5}));
  const Node& map = list.items[1];
  EXPECT_EQ(map.entries[0].at, (Position{0, 4, 6}));
  EXPECT_TRUE(map.entries[0].value.quoted);
  EXPECT_FALSE(root.entries[0].value.quoted);
  EXPECT_EQ(map.entries[1].value.kind, Node::Kind::null);
}

TEST(Yaml, RefusesDuplicateKeysAndGoesOn) {
  const ReadText read = yaml("a: 1\nb: {c: 1, c: {d: 2}}\na: [3]\n");
  EXPECT_THAT(read.errors, ElementsAre("f:2:11: duplicate key `c`; it stands at 2:5 already",
                                       "f:3:1: duplicate key `a`; it stands at 1:1 already"));
  ASSERT_TRUE(read.tree);
  EXPECT_EQ(read.tree->entries.size(), 2U);
  EXPECT_EQ(read.tree->entries[0].value.text, "1");
}

TEST(Yaml, RefusesWhatAReaderCouldMisjudge) {
  EXPECT_THAT(yaml("a: &x 1\n").errors, ElementsAre("f:1:4: anchors (&name) are not supported"));
  EXPECT_THAT(yaml("limit: &a\n  caller: *a\n").errors,
              ElementsAre(HasSubstr("anchors (&name) are not supported")));
  EXPECT_THAT(yaml("a: !!int 3\n").errors, ElementsAre("f:1:4: tags (!name) are not supported"));
  EXPECT_THAT(yaml("<<: {a: 1}\n").errors, ElementsAre("f:1:1: merge keys (<<) are not supported"));
  EXPECT_THAT(yaml("{a: 1}: 2\n").errors, ElementsAre(HasSubstr("a key has to be a word")));
  EXPECT_THAT(yaml("a: 1\n---\nb: 2\n").errors,
              ElementsAre(HasSubstr("a second document (after ---); one file holds one document")));
  EXPECT_THAT(yaml("a:\n\tb: 1\n").errors, ElementsAre("f:2:1: a tab in the indentation; YAML wants spaces"));
}

TEST(Yaml, NamesTheByteThatIsNoText) {
  EXPECT_THAT(yaml("a: \xff\n").errors, ElementsAre(HasSubstr("f:1:4: this is not text")));
  EXPECT_THAT(yaml("a: \xc0\xaf\n").errors, ElementsAre(HasSubstr("f:1:4: this is not text")));
  EXPECT_THAT(yaml("a: \xed\xa0\x80\n").errors, ElementsAre(HasSubstr("f:1:4: this is not text")));
  EXPECT_THAT(yaml("a: 1\nb: \x01\x02\n").errors, ElementsAre(HasSubstr("f:2:4: this is not text")));
  EXPECT_THAT(yaml(std::string_view("a: \0\n", 5)).errors, ElementsAre(HasSubstr("f:1:4: this is not text")));
  EXPECT_THAT(yaml("name: Grüße \U0001F600\n").errors, IsEmpty());
}

TEST(Yaml, SaysWhatIsBroken) {
  EXPECT_THAT(yaml("limit:\n  caller: {default: 5").errors,
              ElementsAre(HasSubstr("a { is never closed by }")));
  EXPECT_THAT(yaml("a: [1, 2").errors, ElementsAre(HasSubstr("a [ is never closed by ]")));
  EXPECT_THAT(yaml("a: 1\n b: 2\n").errors, ElementsAre(HasSubstr("f:2:")));
  EXPECT_THAT(yaml("").errors, ElementsAre("f: the file is empty"));
  EXPECT_THAT(yaml("# nothing but a comment\n").errors, ElementsAre("f: the file is empty"));
  EXPECT_THAT(yaml("---\n").errors, ElementsAre("f: the file is empty"));
}

TEST(Yaml, BoundsDepthAndSize) {
  const auto nested = [](std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  EXPECT_THAT(yaml(nested(32)).errors, IsEmpty());
  EXPECT_THAT(yaml(nested(33)).errors, ElementsAre(HasSubstr("nested deeper than 32 levels")));
  EXPECT_THAT(yaml(nested(300)).errors, ElementsAre(HasSubstr("nested deeper than 32 levels")));
  std::string many = "[";
  for (std::size_t n = 0; n <= kMaxNodes; ++n) many += "1,";
  EXPECT_THAT(json(many + "1]").errors, ElementsAre(HasSubstr("more than 1000000 values")));
}

TEST(Environment, FillsScalarsButNotKeys) {
  ::setenv("WEIR_TEST_NAME", "secret value", 1);
  const ReadText read =
      yaml("a: \"x ${WEIR_TEST_NAME} y\"\nb: $${WEIR_TEST_NAME}\n${C}: 1\n", Environment::expand);
  EXPECT_THAT(read.errors, IsEmpty());
  ASSERT_TRUE(read.tree);
  EXPECT_EQ(read.tree->entries[0].value.text, "x secret value y");
  EXPECT_EQ(read.tree->entries[0].value.shown(), "x ${WEIR_TEST_NAME} y");
  EXPECT_EQ(read.tree->entries[1].value.text, "${WEIR_TEST_NAME}");
  EXPECT_EQ(read.tree->entries[2].key, "${C}");
  EXPECT_EQ(yaml("a: ${X}\n").tree->entries[0].value.text, "${X}");
}

TEST(Environment, UnsetIsAnError) {
  ::unsetenv("WEIR_TEST_UNSET");
  EXPECT_THAT(yaml("a: ${WEIR_TEST_UNSET}\n", Environment::expand).errors,
              ElementsAre("f:1:4: the environment variable WEIR_TEST_UNSET is not set"));
  EXPECT_THAT(yaml("a: ${WEIR\n", Environment::expand).errors, ElementsAre(HasSubstr("`${` without `}`")));
}

TEST(Json, BecomesTheSameTree) {
  const ReadText read =
      json("{\n  \"a\": 700,\n  \"b\\u0041\": {\"limit\": 0.5, \"on\": true},\n  \"c\": \"blocked\"\n}\n");
  EXPECT_THAT(read.errors, IsEmpty());
  ASSERT_TRUE(read.tree);
  ASSERT_EQ(read.tree->entries.size(), 3U);
  EXPECT_EQ(read.tree->entries[0].at.line, 2U);
  EXPECT_EQ(read.tree->entries[0].value.text, "700");
  EXPECT_EQ(read.tree->entries[1].key, "bA");
  EXPECT_EQ(read.tree->entries[1].value.entries[0].value.text, "0.5");
  EXPECT_EQ(read.tree->entries[1].value.entries[1].value.text, "true");
  EXPECT_EQ(read.tree->entries[2].at.line, 4U);
}

TEST(Json, SaysWhatIsBroken) {
  EXPECT_THAT(json("{\"a\": 1,\n \"a\": 2}").errors, ElementsAre(HasSubstr("f:2:3: duplicate key `a`")));
  EXPECT_THAT(json("{\"a\": 1,\n \"b\" 2}").errors, ElementsAre(HasSubstr("f:2:6: this is not valid JSON")));
  EXPECT_THAT(json("{\"a\": 1} x").errors, ElementsAre(HasSubstr("f:1:10: this is not valid JSON")));
  EXPECT_THAT(json("{\"a\":").errors, ElementsAre(HasSubstr("this is not valid JSON")));
  EXPECT_THAT(json("  \n").errors, ElementsAre("f: the file is empty"));
  EXPECT_THAT(json(std::string(40, '[')).errors,
              ElementsAre(testing::AnyOf(HasSubstr("nested deeper"), HasSubstr("not valid JSON"))));
}

}  // namespace
}  // namespace weir::config
