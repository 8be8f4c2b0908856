// SPDX-License-Identifier: Apache-2.0
// What `weir top` shows: one screen of text from the admin port's two documents.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace weir::app {

struct ScreenSize {
  std::size_t columns = 80;
  std::size_t rows = 24;
};

// `status` and `top` are the bodies of GET /status and GET /top. Exactly `size.rows` lines at most, each of
// at most `size.columns` characters, without control characters, whatever the names in it are. `bold` and
// `plain` are put around headings ("" for a pipe). A document that cannot be read gives one line that says
// so.
std::string top_frame(std::string_view status, std::string_view top, ScreenSize size, std::string_view bold,
                      std::string_view plain);

}  // namespace weir::app
