// SPDX-License-Identifier: Apache-2.0
// Result<T>: a value or an error_code. Errors are for things that broke; "over limit" is a value, not an
// error. The error_code carries no text: log the context once, where it happened, then return the code.
#pragma once

#include <boost/system/result.hpp>
#include <utility>

namespace weir {

using boost::system::error_code;

template <class T>
using Result = boost::system::result<T>;

}  // namespace weir

#define WEIR_CONCAT_INNER(a, b) a##b
#define WEIR_CONCAT(a, b) WEIR_CONCAT_INNER(a, b)

// WEIR_TRY(auto x, f()): x is the value of f(), or the function returns f()'s error.
#define WEIR_TRY(declaration, expression) \
  WEIR_TRY_WITH(return, declaration, expression, WEIR_CONCAT(weir_result_, __LINE__))
// The same inside a coroutine.
#define WEIR_CO_TRY(declaration, expression) \
  WEIR_TRY_WITH(co_return, declaration, expression, WEIR_CONCAT(weir_result_, __LINE__))
#define WEIR_TRY_WITH(leave, declaration, expression, name) \
  auto name = (expression);                                 \
  if (!name) leave name.error();                            \
  declaration = std::move(*name)
