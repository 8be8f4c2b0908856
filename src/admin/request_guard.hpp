// SPDX-License-Identifier: Apache-2.0
// Who may ask the admin port: the bearer of the token, and never a web page of somebody else's that runs in
// the browser of somebody who may.
#pragma once

#include <string>
#include <string_view>

namespace weir::admin {

struct AdminRequest;

// `authorization` is "Bearer <token>". Constant time. An empty token lets everyone in.
bool holds_token(std::string_view authorization, const std::string& token);

// A Host that no foreign name can stand in: an address, or localhost; absent with old clients. Against pages
// whose own name is made to resolve to this machine, where there is no token to stop them.
bool is_own_host(std::string_view host);

// What a browser says of a request that another site's page makes: another Origin, or another Sec-Fetch-Site.
bool is_cross_site(const AdminRequest& request);

// application/json, with or without parameters: what no HTML form can send.
bool is_json(std::string_view content_type);

}  // namespace weir::admin
