// RAILWEAVE_CHECK(condition, "why it always holds"): a broken invariant is a bug of ours and ends the process with a
// message, in release builds too. Never for input: that gets an Error.
#pragma once

#include <cstdio>
#include <cstdlib>

#define RAILWEAVE_CHECK(condition, message)                                                                \
  do {                                                                                                     \
    if (!(condition)) [[unlikely]] {                                                                       \
      std::fprintf(stderr, "%s:%d: broken invariant: %s (%s)\n", __FILE__, __LINE__, message, #condition); \
      std::abort();                                                                                        \
    }                                                                                                      \
  } while (false)
