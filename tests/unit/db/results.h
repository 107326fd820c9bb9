// Results in tests: taking the value ends the test with the error's text when there is none.
#pragma once

#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "fabric/base/error.h"

namespace railweave::db {

template <class T>
T take(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().code + ": " + result.error().text());
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

// "" for success, else the stable code; for EXPECT_EQ.
template <class T>
std::string code_of(const Result<T>& result) {
  return result ? std::string() : result.error().code;
}

}  // namespace railweave::db
