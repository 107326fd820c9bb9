// Lists of devices in NCCL_IB_HCA and NCCL_SOCKET_IFNAME, as NCCL's user guide describes them: names apart by commas,
// after "^" what is left out, after "=" whole names instead of the beginnings of names; of adapters also a port
// ("mlx5_0:1", "mlx5_0:1:0:0").
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace railweave::cli {

struct NcclName {
  std::string name;
  std::optional<unsigned> port;  // none: all ports
};

struct NcclNames {
  bool excludes = false, whole = false;
  std::vector<NcclName> names;  // empty: all devices

  [[nodiscard]] bool matches(const NcclName& entry, std::string_view device, unsigned port) const;
  // Whether NCCL uses that port of that device.
  [[nodiscard]] bool admits(std::string_view device, unsigned port) const;
};

// `with_ports`: of NCCL_IB_HCA. Names of interfaces may have a colon of their own.
NcclNames read_nccl_names(std::string_view text, bool with_ports);

}  // namespace railweave::cli
