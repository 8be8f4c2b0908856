// SPDX-License-Identifier: Apache-2.0
// The one translation unit that compiles the bodies of Asio and Beast (some 10 s; every other file saves
// them).
#include <boost/asio/impl/src.hpp>
#include <boost/asio/ssl/impl/src.hpp>
#include <boost/beast/src.hpp>
