#include "fabric/formats/gpu/nmx_gpus.h"

#include <string>
#include <utility>

#include <fmt/core.h>

#include "fabric/base/whole_number.h"
#include "fabric/formats/text/json_reader.h"
#include "fabric/formats/text/name_text.h"

namespace railweave::fabric {
namespace {

constexpr std::string_view kSuccess = "NMX_ST_SUCCESS";

// Names of fields as in the protocol and as JSON of protocol buffers spells them: "gpu_uid" and "gpuUid" are one.
std::string in_camel_case(std::string_view name) {
  std::string text;
  bool upper = false;
  for (const char c : name) {
    if (c == '_') {
      upper = true;
    } else {
      text += std::exchange(upper, false) ? static_cast<char>(c - 'a' + 'A') : c;
    }
  }
  return text;
}

bool is_field(std::string_view written, std::string_view name) {
  return written == name || written == in_camel_case(name);
}

class NmxGpusReader {
 public:
  NmxGpusReader(std::string_view text, const ReadOptions& options) : json_(text, options.source), options_(options) {}

  Result<NmxDomain> read() {
    const bool ok = json_.object([&](std::string_view field) {
      if (is_field(field, "server_header")) return read_header();
      if (!is_field(field, "gpu_info_list") || json_.peek() != '[') return json_.skip_value();
      return json_.array([&] {
        if (domain_.gpus.size() == kMaxNmxGpus) return json_.too_large("more GPUs than are supported");
        return read_gpu(domain_.gpus.emplace_back());
      });
    });
    if (!ok || !json_.end()) return std::unexpected(json_.error());
    if (!code_.empty() && code_ != kSuccess) {
      return refused("nmx.notAnswered", fmt::format("the controller answered {}", code_));
    }
    if (domain_.uuid.empty()) return refused("nmx.noDomain", "there is no serverHeader with a domainUuid");
    if (domain_.gpus.empty()) return refused("nmx.noGpu", "there is no GPU in gpuInfoList");
    return std::move(domain_);
  }

 private:
  [[nodiscard]] std::unexpected<Error> refused(const char* code, std::string message) const {
    return fail(ErrorKind::malformed, code, std::move(message), location_text(options_.source, 1, 1),
                "give the answer to GetGpuInfoList, asked after Hello and with all attributes");
  }

  bool read_header() {
    return json_.object([&](std::string_view field) {
      std::string* const text = is_field(field, "domain_uuid")   ? &domain_.uuid
                                : is_field(field, "return_code") ? &code_
                                                                 : nullptr;
      return text != nullptr && json_.peek() == '"' ? json_.name(*text) : json_.skip_value();
    });
  }

  // JSON of protocol buffers has numbers of 64 bits as strings.
  bool read_number(std::uint64_t& value, std::uint64_t max) {
    if (json_.peek() != '"') return json_.whole_number(value, max);
    std::string text;
    if (!json_.string(text)) return false;
    const auto number = whole_number<std::uint64_t>(text, max);
    if (number) value = *number;
    return number || json_.fail(fmt::format("'{}' is not a whole number of at most {}", escaped_name(text), max));
  }

  bool read_gpu(NmxGpu& gpu) {
    std::string chassis;
    std::uint64_t slot = 0, partition = 0;
    const bool ok = json_.object([&](std::string_view field) {
      if (json_.peek() == 'n') return json_.skip_value();
      if (is_field(field, "gpu_uid")) return read_number(gpu.guid, UINT64_MAX);
      if (is_field(field, "loc")) return read_tray(chassis, slot);
      if (is_field(field, "gpu_health") && json_.peek() == '"') return json_.name(gpu.health);
      if (!is_field(field, "partition_id")) return json_.skip_value();
      if (json_.peek() != '{') return read_number(partition, UINT32_MAX);
      return json_.object([&](std::string_view inner) {
        return is_field(inner, "partition_id") ? read_number(partition, UINT32_MAX) : json_.skip_value();
      });
    });
    gpu.partition = static_cast<std::uint32_t>(partition);
    gpu.tray = fmt::format("chassis {}, slot {}", chassis.empty() ? "?" : chassis, slot);
    return ok;
  }

  bool read_tray(std::string& chassis, std::uint64_t& slot) {
    return json_.object([&](std::string_view field) {
      if (is_field(field, "chassis_serial_number") && json_.peek() == '"') return json_.name(chassis);
      if (!is_field(field, "location") || json_.peek() != '{') return json_.skip_value();
      return json_.object([&](std::string_view inner) {
        return is_field(inner, "slot_id") ? read_number(slot, UINT32_MAX) : json_.skip_value();
      });
    });
  }

  JsonReader json_;
  const ReadOptions& options_;
  NmxDomain domain_;
  std::string code_;
};

}  // namespace

bool is_without_nvlink(const NmxGpu& gpu) { return gpu.health == "NMX_GPU_HEALTH_NO_NVLINK"; }

Result<NmxDomain> read_nmx_gpus(std::string_view text, const ReadOptions& options) {
  return NmxGpusReader(text, options).read();
}

}  // namespace railweave::fabric
