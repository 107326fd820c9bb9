#include "tests/fuzz/fabric_input.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  railweave::fabric::read_and_write_back(data, size, railweave::fabric::Format::ibsim);
  return 0;
}
