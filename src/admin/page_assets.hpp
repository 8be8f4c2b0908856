// SPDX-License-Identifier: Apache-2.0
// The status page: the files of src/admin/page, embedded by the build.
#pragma once

#include <span>
#include <string_view>

namespace weir::admin {

struct PageAsset {
  std::string_view path;  // "/page/main.js"; the document itself is "/page/index.html"
  std::string_view content_type;
  std::string_view content;
};

std::span<const PageAsset> page_assets();

}  // namespace weir::admin
