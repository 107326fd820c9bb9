#include "services/verify/verdict.h"

#include <cstdio>

namespace railweave::verify {

void Verdict::fault(const std::string& text) {
  constexpr std::size_t kMaxPrinted = 50;
  if (++faults <= kMaxPrinted) std::printf("FAULT %s\n", text.c_str());
}

}  // namespace railweave::verify
