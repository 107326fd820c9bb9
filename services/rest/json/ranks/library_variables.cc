#include "services/rest/json/ranks/library_variables.h"

#include <array>
#include <cstdio>
#include <span>

#include <fmt/format.h>

namespace railweave::api {
namespace {

// UCX takes a key's value, others its index in the port's table.
enum class KeyForm : std::uint8_t { none, index, value };

struct Library {
  std::string_view name;
  std::array<std::string_view, 2> service_level, traffic_class;  // "": no such variable
  std::string_view partition;
  KeyForm key = KeyForm::none;
};

// Where each was read, in 2026:
//   nccl      NCCL 2.19 to 2.30 and RCCL, src/transport/net_ib: IB_SL, IB_TC, IB_PKEY (an index), and IB_FIFO_TC of its control
//             packets, 0 by default in some releases. GIN falls back to IB_TC. DeepEP's second version sends through GIN with a
//             service level of its own, EP_OVERRIDE_RDMA_SL (csrc/kernels/backend/nccl.cu).
//   ucx       UCX 1.13, src/uct/ib/base/ib_iface.c: SL, TRAFFIC_CLASS and PKEY (a value from 0 to 0x7fff), which all of its
//             transports inherit. Open MPI, UCC and NIXL send through it.
//   nvshmem   NVSHMEM, src/modules/transport/common/env_defs.h: IB_SL and IB_TRAFFIC_CLASS, of IBRC, IBDEVX and IBGDA. The key is
//             the one at index 0. DeepEP's first version sends through it.
//   mooncake  Mooncake, mooncake-transfer-engine/src/config.cpp: MC_IB_SL, MC_IB_TC, MC_PKEY_INDEX.
//   mori      MORI, src/application/transport/rdma and src/io: RDMA_SL, RDMA_TC, IO_SL, IO_TC.
//   uccl      UCCL, ep/README.md: UCCL_IB_SL, UCCL_IB_TC.
//   rocshmem  rocSHMEM, docs/env_variables.rst: GDA_TRAFFIC_CLASS, for adapters on Ethernet.
//   libfabric libfabric 1.17 and main, prov/verbs/src/verbs_init.c: none (ofiwg/libfabric#5263). rdma_cm marks its connections,
//             from the subnet manager's paths or the host's cma_roce_tos.
//   gloo      Gloo, gloo/transport/ibverbs/pair.cc: service level and index of the key are 0. Over TCP the kernel marks.
constexpr std::array<Library, 9> kLibraries{{
    {"nccl", {"NCCL_IB_SL", "EP_OVERRIDE_RDMA_SL"}, {"NCCL_IB_TC", "NCCL_IB_FIFO_TC"}, "NCCL_IB_PKEY", KeyForm::index},
    {"ucx", {"UCX_IB_SL"}, {"UCX_IB_TRAFFIC_CLASS"}, "UCX_IB_PKEY", KeyForm::value},
    {"nvshmem", {"NVSHMEM_IB_SL"}, {"NVSHMEM_IB_TRAFFIC_CLASS"}, "", KeyForm::none},
    {"mooncake", {"MC_IB_SL"}, {"MC_IB_TC"}, "MC_PKEY_INDEX", KeyForm::index},
    {"mori", {"MORI_RDMA_SL", "MORI_IO_SL"}, {"MORI_RDMA_TC", "MORI_IO_TC"}, "", KeyForm::none},
    {"uccl", {"UCCL_IB_SL"}, {"UCCL_IB_TC"}, "", KeyForm::none},
    {"rocshmem", {}, {"ROCSHMEM_GDA_TRAFFIC_CLASS"}, "", KeyForm::none},
    {"libfabric", {}, {}, "", KeyForm::none},
    {"gloo", {}, {}, "", KeyForm::none},
}};

void add(Variables& variables, std::span<const std::string_view> names, const std::string& value) {
  for (const std::string_view name : names) {
    if (!name.empty()) variables.emplace_back(name, value);
  }
}

// So that ranks, and who looks after them, can read it wherever they were started.
void add_names(Variables& variables, const char* name, const std::vector<std::string_view>& libraries) {
  const std::string text = fmt::format("{}", fmt::join(libraries, ","));
  if (!text.empty()) variables.emplace_back(name, text);
}

std::string hexadecimal(unsigned value) {
  char text[16];
  std::snprintf(text, sizeof text, "0x%x", value);
  return text;
}

}  // namespace

Variables class_variables(const RankMarks& marks) {
  Variables variables;
  const bool has_levels = marks.path_levels > 1;  // level 0 is what unmarked packets have
  if (!marks.of_class && !has_levels) return variables;
  const unsigned first = marks.of_class ? marks.of_class->service_level : 0;
  for (const Library& one : kLibraries) {
    if (!marks.are_levels_several()) add(variables, one.service_level, std::to_string(first + marks.path_level()));
    if (marks.of_class) add(variables, one.traffic_class, std::to_string(marks.of_class->traffic_class));
  }
  if (marks.are_levels_several()) variables.emplace_back("RAILWEAVE_PATH_LEVELS", levels_text(marks));
  add_names(variables, "RAILWEAVE_OUTSIDE_CLASS", outside_class(marks));
  return variables;
}

std::string levels_text(const RankMarks& marks) {
  const unsigned first = marks.of_class ? marks.of_class->service_level : 0;
  std::string text;
  for (unsigned level = 0; level < 16; ++level) {
    if ((marks.path_levels >> level & 1U) != 0) text += fmt::format("{}{}", text.empty() ? "" : ",", first + level);
  }
  return text;
}

Variables partition_variables(const RankMarks& marks, fabric::HostId host) {
  Variables variables;
  const std::uint16_t index = marks.index_on(host);
  if (index == 0) return variables;
  for (const Library& one : kLibraries) {
    if (one.key == KeyForm::index) variables.emplace_back(one.partition, std::to_string(index));
    if (one.key == KeyForm::value) variables.emplace_back(one.partition, hexadecimal(marks.pkey));
  }
  add_names(variables, "RAILWEAVE_OUTSIDE_PARTITION", outside_partition(marks, host));
  return variables;
}

std::vector<std::string_view> outside_class(const RankMarks& marks) {
  std::vector<std::string_view> names;
  if (!marks.of_class) return names;
  for (const Library& one : kLibraries) {
    // Switches choose by the service level on InfiniBand, and by the DSCP on Ethernet.
    const bool has_no_level = one.service_level[0].empty() || marks.are_levels_several();
    const bool unmarked = (marks.on_infiniband && has_no_level) || (marks.on_ethernet && one.traffic_class[0].empty());
    if (unmarked) names.push_back(one.name);
  }
  return names;
}

std::vector<std::string_view> outside_partition(const RankMarks& marks, fabric::HostId host) {
  std::vector<std::string_view> names;
  if (marks.index_on(host) == 0) return names;
  for (const Library& one : kLibraries) {
    if (one.key == KeyForm::none) names.push_back(one.name);
  }
  return names;
}

}  // namespace railweave::api
