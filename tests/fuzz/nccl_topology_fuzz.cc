#include <cstdint>

#include "fabric/formats/gpu/nccl_topology.h"
#include "tests/fuzz/affinity_input.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace railweave::fabric;
  const auto affinity = read_nccl_topology({reinterpret_cast<const char*>(data), size}, {.source = "fuzz"});
  if (affinity) check_affinity(*affinity);
  return 0;
}
