#include <cstdint>
#include <string>

#include "fabric/base/check.h"
#include "fabric/formats/gpu/attach_gpus.h"
#include "fabric/formats/gpu/nvlink_cliques.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace railweave::fabric;
  TopologyBuilder builder;
  for (const char* host : {"n1", "n2", "n3"}) builder.host(host);
  RAILWEAVE_CHECK(attach_gpus(builder, {.gpus_per_node = 4, .nvlink_domain_gpus = 4}).has_value(),
                  "three hosts get GPUs");
  const NvlinkCliqueOptions options{.read = {.source = "fuzz"}, .platform = size % 2 == 0 ? "GB200" : ""};
  const auto read = read_nvlink_cliques({reinterpret_cast<const char*>(data), size}, options, builder);
  if (read) RAILWEAVE_CHECK(std::move(builder).build().has_value(), "the fabric builds");
  return 0;
}
