#include "fabric/formats/read_fabric.h"

#include <string>
#include <utility>

#include <fmt/core.h>

#include "fabric/formats/infiniband/ibnetdiscover.h"
#include "fabric/formats/infiniband/ibsim.h"
#include "fabric/formats/infiniband/other_forms.h"
#include "fabric/formats/native/native_json.h"

namespace railweave::fabric {

Result<void> read_into(std::string_view text, Format format, const ReadOptions& options, TopologyBuilder& builder) {
  if (format == Format::unknown && describe_other_form(text).empty()) format = detect_format(text);
  switch (format) {
    case Format::ibnetdiscover:
      return read_ibnetdiscover(text, options, builder);
    case Format::ibsim:
      return read_ibsim(text, options, builder);
    case Format::native:
      return read_native_json(text, options, builder);
    case Format::unknown:
      if (const std::string other = describe_other_form(text); !other.empty()) {
        return fail(ErrorKind::malformed, "input.format",
                    other + ", which is not read: it has not all that a fabric needs",
                    location_text(options.source, 1, 1), "give the output of ibnetdiscover without options");
      }
      return fail(ErrorKind::malformed, "input.format",
                  "the format is not recognised; known are output of ibnetdiscover, ibsim netlists and "
                  "Railweave's native JSON",
                  location_text(options.source, 1, 1), "name its format if it is one of these");
    case Format::nccl_topology:
    case Format::nvidia_smi_topo:
    case Format::nvlink_cliques:
      break;
  }
  return fail(ErrorKind::invalid, "input.notAFabric",
              fmt::format("a file of format {} describes machines, not a fabric", to_string(format)), options.source,
              "give it together with a fabric");
}

Result<Topology> read_fabric(std::string_view text, Format format, const ReadOptions& options) {
  TopologyBuilder builder;
  if (auto read = read_into(text, format, options, builder); !read) return std::unexpected(std::move(read.error()));
  return std::move(builder).build();
}

}  // namespace railweave::fabric
