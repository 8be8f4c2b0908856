// SPDX-License-Identifier: Apache-2.0
#include "identity/path_normal.hpp"

#include <gtest/gtest.h>

#include <random>

namespace weir::identity {
namespace {

struct Normal {
  PathFault fault;
  std::string path;
};

Normal normal_of(std::string_view raw, const PathOptions& options = {}) {
  std::string buffer;
  std::string_view path;
  const PathFault fault = normalise_path(raw, options, buffer, path);
  return {fault, std::string(path)};
}

TEST(PathNormal, EverySpellingOfOnePathHasOneForm) {
  for (const std::string_view raw :
       {"/login", "//login", "/./login", "/x/../login", "/%6Cogin", "/%6cogin", "/login;v=1", "/;a=b/login",
        "/%2e/login", "/x/%2E%2e/login", "/x/y/../.././login", "/lo%67in;a;b=%20", "///x//..//login"}) {
    const Normal normal = normal_of(raw);
    EXPECT_EQ(normal.fault, PathFault::none) << raw;
    EXPECT_EQ(normal.path, "/login") << raw;
  }
}

TEST(PathNormal, KeepsWhatIsAnotherPath) {
  const std::vector<std::pair<std::string_view, std::string_view>> table{
      {"/", "/"},
      {"", "/"},
      {"*", "*"},
      {"/login/", "/login/"},
      {"/LOGIN", "/LOGIN"},
      {"/login/.", "/login/"},
      {"/a/b/..", "/a/"},
      {"/a/..", "/"},
      {"//", "/"},
      {"/login;v=1/", "/login/"},
      {"/...", "/..."},
      {"/.well-known/x", "/.well-known/x"},
      {"/a..b/.c", "/a..b/.c"},
      {"/%252e%252e/admin", "/%252e%252e/admin"},  // decoded once
      {"/%25", "/%25"},
      {"/a%3fb%23c", "/a%3Fb%23c"},
      {"/a%20b", "/a%20b"},
      {"/a%3bv=1", "/a%3Bv=1"},  // an encoded semicolon is data
      {"/%c3%a9", "/%C3%A9"},
      {"/\xc3\xa9", "/%C3%A9"},
      {"/%c0%ae%c0%ae/admin", "/%C0%AE%C0%AE/admin"},  // overlong UTF-8 is no dot
      {"/a\"<>^`{|}b", "/a%22%3C%3E%5E%60%7B%7C%7Db"},
      {"/a!$&'()*+,=:@-._~b", "/a!$&'()*+,=:@-._~b"},
  };
  for (const auto& [raw, expected] : table) {
    const Normal normal = normal_of(raw);
    EXPECT_EQ(normal.fault, PathFault::none) << raw;
    EXPECT_EQ(normal.path, expected) << raw;
  }
}

TEST(PathNormal, RefusesWhatTwoServersCouldReadInTwoWays) {
  const std::vector<std::pair<std::string_view, PathFault>> table{
      {"/login%2F", PathFault::encoded_slash},
      {"/a%2fb", PathFault::encoded_slash},
      {"/a;x=%2f", PathFault::encoded_slash},
      {"/a\\b", PathFault::backslash},
      {"/a%5cb", PathFault::backslash},
      {"/login%00", PathFault::control_character},
      {"/a%0d%0ab", PathFault::control_character},
      {"/a%09b", PathFault::control_character},
      {"/a%7fb", PathFault::control_character},
      {"/a\x01", PathFault::control_character},
      {"/a b", PathFault::control_character},
      {"/a%", PathFault::malformed_escape},
      {"/a%4", PathFault::malformed_escape},
      {"/a%zz", PathFault::malformed_escape},
      {"/a%4g", PathFault::malformed_escape},
      {"/..", PathFault::above_root},
      {"/../x", PathFault::above_root},
      {"/a/../../x", PathFault::above_root},
      {"/%2e%2e/x", PathFault::above_root},
      {"/a/..;/admin", PathFault::dots_with_parameters},
      {"/a/%2e%2e;x=1/admin", PathFault::dots_with_parameters},
      {"/a/.;/b", PathFault::dots_with_parameters},
      {"/a#b", PathFault::fragment},
      {"login", PathFault::not_absolute},
  };
  for (const auto& [raw, fault] : table) {
    EXPECT_EQ(normal_of(raw).fault, fault) << raw;
    EXPECT_FALSE(reason_of(fault).empty());
  }
}

TEST(PathNormal, KeepsEncodedSlashesAsDataWhereAsked) {
  PathOptions options;
  options.keep_encoded_slash = true;
  EXPECT_EQ(normal_of("/a%2fb/../c", options).path, "/c");
  EXPECT_EQ(normal_of("/a%2f..%2Fb", options).path, "/a%2F..%2Fb");
  EXPECT_EQ(normal_of("/a%5cb", options).fault, PathFault::backslash);
}

TEST(PathNormal, FoldsOnlyWhatIsAsked) {
  PathOptions fold_case;
  fold_case.fold_case = true;
  EXPECT_EQ(normal_of("/LoGin/%C3%a9/%41", fold_case).path, "/login/%C3%A9/a");
  EXPECT_EQ(normal_of("/login/", fold_case).path, "/login/");
  PathOptions fold_slash;
  fold_slash.fold_trailing_slash = true;
  EXPECT_EQ(normal_of("/Login/", fold_slash).path, "/Login");
  EXPECT_EQ(normal_of("/a/./", fold_slash).path, "/a");
  EXPECT_EQ(normal_of("/", fold_slash).path, "/");
}

TEST(PathNormal, CopiesNothingWhenThePathIsNormal) {
  const std::string raw = "/order/17/pay";
  std::string buffer;
  std::string_view path;
  ASSERT_EQ(normalise_path(raw, {}, buffer, path), PathFault::none);
  EXPECT_EQ(path.data(), raw.data());
}

TEST(PathNormal, IsIdempotentOnRandomPaths) {
  std::mt19937 random(7);
  constexpr std::string_view alphabet = "/..;%%2e5cF00aZ\\\x01\xff# +@";
  PathOptions keep;
  keep.keep_encoded_slash = true;
  std::size_t accepted = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string raw = "/";
    for (std::size_t n = random() % 24; n > 0; --n) raw += alphabet[random() % alphabet.size()];
    for (const PathOptions& options : {PathOptions(), keep}) {
      const Normal once = normal_of(raw, options);
      if (once.fault != PathFault::none) continue;
      ++accepted;
      const Normal twice = normal_of(once.path, options);
      EXPECT_EQ(twice.fault, PathFault::none) << raw;
      EXPECT_EQ(twice.path, once.path) << raw;
      EXPECT_EQ(once.path.find("//"), std::string::npos) << raw;
      EXPECT_EQ((once.path + '/').find("/../"), std::string::npos) << raw;
    }
  }
  EXPECT_GT(accepted, 1000U);
}

}  // namespace
}  // namespace weir::identity
