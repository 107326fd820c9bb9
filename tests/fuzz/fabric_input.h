// What the fuzz targets of whole-fabric formats do with an input: read it, and where that works write it in every
// format and read it back. Anything that is read must survive that.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "fabric/base/check.h"
#include "fabric/formats/infiniband/ibsim.h"
#include "fabric/formats/native/native_json.h"
#include "fabric/formats/read_fabric.h"

namespace railweave::fabric {

inline void read_and_write_back(const std::uint8_t* data, std::size_t size, Format format) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  (void)detect_format(text);
  const auto topology = read_fabric(text, format, {.source = "fuzz"});
  if (!topology) return;
  const std::string native = write_native_json(*topology);
  const auto again = read_fabric(native, Format::native);
  RAILWEAVE_CHECK(again.has_value(), "what was written reads back");
  RAILWEAVE_CHECK(write_native_json(*again) == native, "writing is canonical");
  const auto netlist = read_fabric(write_ibsim(*topology), Format::ibsim);
  if (topology->switches().empty() && topology->hcas().empty()) return;
  RAILWEAVE_CHECK(netlist.has_value(), "a netlist of a fabric with devices reads back");
  RAILWEAVE_CHECK(netlist->switches().size() == topology->switches().size(), "with all its switches");
  RAILWEAVE_CHECK(netlist->hcas().size() == topology->hcas().size(), "and adapters");
}

}  // namespace railweave::fabric
