// SPDX-License-Identifier: Apache-2.0
// The normal form of a path: it is its own normal form, whatever it lies in, has nothing left in it that a
// second server could read in another way, and can be forwarded.
#include "fuzz/fuzzing.hpp"
#include "http/request_parser.hpp"
#include "identity/path_normal.hpp"

namespace weir::fuzz {
namespace {

using identity::normalise_path;
using identity::PathFault;

identity::PathOptions options_of(char byte) {
  identity::PathOptions options;
  options.keep_encoded_slash = (byte & 1) != 0;
  options.fold_case = (byte & 2) != 0;
  options.fold_trailing_slash = (byte & 4) != 0;
  return options;
}

bool has_segment(std::string_view path, std::string_view segment) {
  const std::string wrapped = std::string(path) + "/";
  return wrapped.find("/" + std::string(segment) + "/") != std::string::npos;
}

void check_form(std::string_view normal, const identity::PathOptions& options) {
  require(normal == "*" || normal.starts_with('/'), "a normal path begins with a slash");
  require(normal.find("//") == std::string_view::npos, "no empty segment is left");
  require(!has_segment(normal, ".") && !has_segment(normal, ".."), "no dot segment is left");
  for (const char c : normal) {
    require(static_cast<unsigned char>(c) > 0x20 && static_cast<unsigned char>(c) < 0x7f,
            "only visible ASCII");
    require(c != '\\' && c != '#' && c != '?', "nothing that ends or bends a path");
    require(!options.fold_case || c < 'A' || c > 'Z' || normal.find('%') != std::string_view::npos,
            "case is folded");
  }
  if (!options.keep_encoded_slash) {
    require(normal.find("%2F") == std::string_view::npos, "no hidden slash is left");
  }
}

void check_forwarded(std::string_view normal) {
  if (normal == "*") return;
  const std::string bytes = "GET " + std::string(normal) + " HTTP/1.1\r\nHost: a\r\n\r\n";
  http::ServerOptions options;
  http::RequestParser parser;
  http::RequestHead head;
  if (normal.size() > options.target_bytes) return;
  require(parser.parse(bytes, options, head) == http::RequestParser::State::complete,
          "a normal path is a good target");
  require(head.path == normal && head.query.empty(), "a normal path is read as it is");
}

void run(std::string_view bytes) {
  if (bytes.empty()) return;
  const identity::PathOptions options = options_of(bytes[0]);
  const std::string raw(bytes.substr(1));
  std::string buffer;
  std::string_view normal;
  const PathFault fault = normalise_path(raw, options, buffer, normal);
  std::string used = "/left/over/from/before%41";
  std::string_view second;
  require(normalise_path(raw, options, used, second) == fault, "the buffer's content does not matter");
  if (fault != PathFault::none) {
    require(!identity::reason_of(fault).empty(), "a fault has a reason");
    return;
  }
  require(second == normal, "the buffer's content does not matter");
  check_form(normal, options);
  std::string again;
  std::string_view twice;
  const std::string once(normal);
  require(normalise_path(once, options, again, twice) == PathFault::none, "a normal form is accepted");
  require(twice == once, "a normal form is its own normal form");
  check_forwarded(normal);
}

}  // namespace
}  // namespace weir::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  weir::fuzz::run(weir::fuzz::text_of(data, size));
  return 0;
}
