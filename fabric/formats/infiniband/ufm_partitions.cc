#include "fabric/formats/infiniband/ufm_partitions.h"

#include <map>
#include <utility>

#include <fmt/core.h>

#include "fabric/base/whole_number.h"
#include "fabric/formats/text/json_reader.h"
#include "fabric/topology/topology_builder.h"

namespace railweave::fabric {
namespace {

constexpr std::uint16_t kMembershipBit = 0x8000;

class UfmPartitionsReader {
 public:
  UfmPartitionsReader(std::string_view text, const ReadOptions& options)
      : json_(text, options.source), options_(options) {}

  Result<UfmPartitions> read() {
    const bool ok = json_.entries([&](std::string_view key) {
      const auto pkey = parse_pkey(key);
      if (!pkey || json_.peek() != '{') {
        left_out_.push_back({std::string(key), pkey ? "it is no partition" : "it is not the key of a partition"});
        return json_.skip_value();
      }
      UfmPartition& partition = partitions_[*pkey];
      partition.pkey = *pkey;
      return read_partition(partition);
    });
    if (!ok || !json_.end()) return std::unexpected(json_.error());
    if (partitions_.empty()) return refused("ufm.noPartitions", "no field is the key of a partition, such as 0x12");
    if (members_ == 0) return refused("ufm.noGuids", "no partition tells its GUIDs");
    UfmPartitions read{{}, std::move(left_out_)};
    for (auto& [pkey, partition] : partitions_) read.partitions.push_back(std::move(partition));
    return read;
  }

 private:
  [[nodiscard]] std::unexpected<Error> refused(const char* code, std::string message) const {
    return fail(ErrorKind::malformed, code, std::move(message), location_text(options_.source, 1, 1),
                "give the answer to GET /ufmRest/resources/pkeys?guids_data=true");
  }

  bool read_partition(UfmPartition& partition) {
    return json_.entries([&](std::string_view key) {
      if (key == "partition" && json_.peek() == '"') return json_.string(partition.name);
      if (key != "guids" || json_.peek() != '[') return json_.skip_value();
      return json_.array([&] {
        if (json_.peek() == '{') return read_member(partition);
        leave_out(partition, "a member is no object with a guid");
        return json_.skip_value();
      });
    });
  }

  bool read_member(UfmPartition& partition) {
    std::string guid, membership;
    const bool ok = json_.entries([&](std::string_view key) {
      std::string* const text = key == "guid" ? &guid : key == "membership" ? &membership : nullptr;
      return text != nullptr && json_.peek() == '"' ? json_.string(*text) : json_.skip_value();
    });
    if (!ok) return false;
    const auto parsed = parse_guid(guid);
    if (!parsed || !parsed->known()) {
      leave_out(partition, guid.empty() ? "a member has no guid" : "no GUID: " + guid);
      return true;
    }
    partition.members.push_back({*parsed, membership != "limited"});
    return ++members_ <= TopologyBuilder::kMaxPorts || json_.too_large("more GUIDs than are supported");
  }

  void leave_out(const UfmPartition& partition, std::string why) {
    left_out_.push_back({fmt::format("partition {:#06x}", partition.pkey), std::move(why)});
  }

  JsonReader json_;
  const ReadOptions& options_;
  RowsLeftOut left_out_;
  std::map<std::uint16_t, UfmPartition> partitions_;
  std::size_t members_ = 0;
};

}  // namespace

std::optional<std::uint16_t> parse_pkey(std::string_view text) {
  if (!text.starts_with("0x") && !text.starts_with("0X")) return std::nullopt;
  const auto value = whole_number<std::uint16_t>(text.substr(2), UINT16_MAX, 16);
  if (!value || (*value & ~kMembershipBit) == 0) return std::nullopt;
  return static_cast<std::uint16_t>(*value & ~kMembershipBit);
}

Result<UfmPartitions> read_ufm_partitions(std::string_view text, const ReadOptions& options) {
  return UfmPartitionsReader(text, options).read();
}

}  // namespace railweave::fabric
