// SPDX-License-Identifier: Apache-2.0
#include "identity/path_table.hpp"

#include <gtest/gtest.h>

#include "identity/heads.hpp"

namespace weir::identity {
namespace {

using test::pattern;

class Table {
 public:
  explicit Table(std::vector<std::string> texts, PathOptions options = {}) : texts_(std::move(texts)) {
    std::vector<PathPattern> patterns;
    for (const std::string& text : texts_) patterns.push_back(pattern(text));
    table_ = PathTable(patterns, options);
  }
  std::string find(std::string_view method, std::string_view path) const {
    const auto index = table_.find(method, path);
    return index ? texts_[*index] : "none";
  }
  const PathTable& table() const { return table_; }

 private:
  std::vector<std::string> texts_;
  PathTable table_;
};

TEST(PathTable, TheMostSpecificPatternWins) {
  const Table table(
      {"/**", "/order/**", "/order/{id}", "/order/{id}/pay", "/order/mine/pay", "/order/{id}/**"});
  EXPECT_EQ(table.find("GET", "/"), "/**");
  EXPECT_EQ(table.find("GET", "/user"), "/**");
  EXPECT_EQ(table.find("GET", "/order"), "/order/**");
  EXPECT_EQ(table.find("GET", "/order/"), "/order/**");
  EXPECT_EQ(table.find("GET", "/order/7"), "/order/{id}");
  EXPECT_EQ(table.find("GET", "/order/7/"), "/order/{id}/**");
  EXPECT_EQ(table.find("GET", "/order/7/pay"), "/order/{id}/pay");
  EXPECT_EQ(table.find("GET", "/order/mine/pay"), "/order/mine/pay");
  EXPECT_EQ(table.find("GET", "/order/mine/other"), "/order/{id}/**");  // back from the literal branch
  EXPECT_EQ(table.find("GET", "/orders"), "/**");
  EXPECT_EQ(table.find("OPTIONS", "*"), "/**");
}

TEST(PathTable, MethodsNarrow) {
  const Table table({"POST /order", "/order", "GET /user", "/u/{id}", "POST /u/me"});
  EXPECT_EQ(table.find("POST", "/order"), "POST /order");
  EXPECT_EQ(table.find("PUT", "/order"), "/order");
  EXPECT_EQ(table.find("POST", "/user"), "none");
  EXPECT_EQ(table.find("GET", "/u/me"), "/u/{id}");  // the literal is for POST only
  EXPECT_EQ(table.find("HEAD", "/user"), "GET /user");
}

TEST(PathTable, ComparesDecodedSegments) {
  const Table table({"/@me", "/a%2Fb", "/{x}"});
  EXPECT_EQ(table.find("GET", "/%40me"), "/@me");
  EXPECT_EQ(table.find("GET", "/a%2Fb"), "/a%2Fb");
  EXPECT_EQ(table.find("GET", "/%25"), "/{x}");
}

TEST(PathTable, FoldsAsPathsAreFolded) {
  PathOptions options;
  options.fold_case = options.fold_trailing_slash = true;
  const Table table({"/Login/", "/x/**"}, options);
  EXPECT_EQ(table.find("GET", "/login"), "/Login/");
  EXPECT_EQ(table.find("GET", "/x"), "/x/**");
  EXPECT_EQ(table.table().duplicate_of(pattern("/LOGIN")), std::optional<std::size_t>(0));
}

TEST(PathTable, NamesDuplicates) {
  const Table table({"/a/{id}", "POST /a/{id}", "/a/{name}", "/b/**"});
  EXPECT_EQ(table.table().duplicate_of(pattern("/a/{name}")), std::optional<std::size_t>(0));
  EXPECT_EQ(table.table().duplicate_of(pattern("POST /a/{x}")), std::optional<std::size_t>(1));
  EXPECT_EQ(table.table().duplicate_of(pattern("/b/**")), std::optional<std::size_t>(3));
  EXPECT_EQ(table.table().duplicate_of(pattern("PUT /a/{x}")), std::nullopt);
  EXPECT_EQ(table.table().duplicate_of(pattern("/b")), std::nullopt);
  EXPECT_EQ(table.table().duplicate_of(pattern("/c/d")), std::nullopt);
}

TEST(PathTable, AnEmptyTableFindsNothing) {
  EXPECT_EQ(PathTable().find("GET", "/x"), std::nullopt);
}

TEST(PathPattern, ParsesMethodAndPath) {
  const PathPattern post = pattern("  POST   /order/{id}/pay ");
  EXPECT_EQ(post.method, "POST");
  EXPECT_EQ(post.path, "/order/{id}/pay");
  EXPECT_EQ(post.text, "POST /order/{id}/pay");
  EXPECT_EQ(pattern("/**").method, "");
}

TEST(PathPattern, SaysWhatIsWrong) {
  for (const std::string_view text :
       {"", "order", "post /x", "GET POST /x", "/a/**/b", "/a*", "/*", "/a{b}", "/{}", "/{a b}", "//a",
        "/a/../b", "/a;v=1", "/a%zz", "/a%41", "/a b", "/x?y=1", "/a#b", "GET"}) {
    std::string why;
    EXPECT_FALSE(parse_path_pattern(text, why)) << text;
    EXPECT_FALSE(why.empty()) << text;
  }
}

}  // namespace
}  // namespace weir::identity
