// Marks of packets, choices that NCCL makes better by itself, and the file of a machine's topology.
#include <algorithm>
#include <charconv>
#include <optional>

#include "services/railweave/assess/nccl_checks.h"

namespace railweave::cli {
namespace {

constexpr int kMaxServiceLevel = 15, kMaxTrafficClass = 255, kMaxTimeout = 31;
constexpr int kTrafficClassPerDscp = 4;

std::optional<int> number_of(const CheckedEnvironment& checked, const char* name) {
  const std::string text = checked.environment.value(name);
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

Advice about(const CheckedEnvironment& checked, const char* code, const char* severity, const char* name,
             const std::string& what) {
  return {.code = code,
          .severity = severity,
          .title = std::string(name) + "=" + checked.environment.value(name) + what,
          .sure = {},
          .cost = {},
          .action = {},
          .command = checked.environment.command,
          .objects = {checked.environment.job}};
}

int mark_of(const fabric::QosClasses& classes, std::size_t i, bool service_level) {
  return service_level ? fabric::class_number(classes, i) : classes[i].dscp * kTrafficClassPerDscp;
}

void check_mark(const CheckedEnvironment& checked, std::vector<Advice>& advice, const char* name, bool service_level) {
  const auto value = number_of(checked, name);
  if (!value) return;
  const int most = service_level ? kMaxServiceLevel : kMaxTrafficClass;
  if (*value < 0 || *value > most) {
    Advice one = about(checked, "ncclMarkImpossible", "error", name, " is no value that packets can carry");
    one.sure = "certain: the field ends at " + std::to_string(most);
    one.cost = "connections fail, or are in another class than meant";
    one.action = "unset it, or take a value from 0 to " + std::to_string(most);
    return advice.push_back(std::move(one));
  }
  if (!checked.site.classes) return;
  const fabric::QosClasses& classes = *checked.site.classes;
  // The low two bits of a traffic class are congestion marks.
  const int mark = service_level ? *value : *value - *value % kTrafficClassPerDscp;
  std::string known;
  for (std::size_t i = 0; i < classes.size(); ++i) {
    if (mark_of(classes, i, service_level) == mark) return;
    known += (known.empty() ? "" : ", ") + std::to_string(mark_of(classes, i, service_level)) + " " + classes[i].name;
  }
  Advice one = about(checked, "ncclClassUnknown", "error", name, " is of no traffic class");
  one.sure = "certain for the classes of " + checked.site.classes_from;
  one.cost = "packets are in the class of those that nothing marks, or dropped where switches filter what hosts send";
  one.action = "take one of: " + known;
  advice.push_back(std::move(one));
}

void check_pinned(const CheckedEnvironment& checked, std::vector<Advice>& advice) {
  if (checked.environment.has("NCCL_ALGO") && !checked.environment.value("NCCL_ALGO").empty()) {
    Advice one = about(checked, "ncclChoicePinned", "warning", "NCCL_ALGO", " pins the algorithms");
    one.sure = "certain that NCCL then chooses among these alone; what is lost depends on sizes and numbers of ranks";
    one.cost = "small and large collectives, and other numbers of ranks, need different algorithms";
    one.action = "unset it, and compare with nccl-tests";
    advice.push_back(std::move(one));
  }
  const std::string protocols = checked.environment.value("NCCL_PROTO");
  if (protocols.empty()) return;
  Advice one = about(checked, "ncclChoicePinned", "warning", "NCCL_PROTO", " pins the protocols");
  one.sure = "certain that NCCL then chooses among these alone";
  one.cost = "latency of small messages or bandwidth of large ones";
  const bool forced = !protocols.starts_with('^') && protocols.find("LL128") != std::string::npos;
  if (forced) one.cost += "; LL128 where the machine does not support it corrupts data";
  if (forced) one.severity = "error";
  one.action = "unset it, and compare with nccl-tests";
  advice.push_back(std::move(one));
}

void check_timeout(const CheckedEnvironment& checked, std::vector<Advice>& advice) {
  const auto value = number_of(checked, "NCCL_IB_TIMEOUT");
  if (!value || (*value > 0 && *value <= kMaxTimeout)) return;
  Advice one = about(checked, "ncclWaitsForever", "warning", "NCCL_IB_TIMEOUT", " makes NCCL wait without end");
  one.sure = "certain: 0, and what is above " + std::to_string(kMaxTimeout) + ", mean no limit";
  one.cost = "a job that lost a link hangs with its GPUs instead of failing";
  one.action = "unset it; 20 is the default of NCCL 2.23 and later, 22 waits 2 minutes";
  advice.push_back(std::move(one));
}

// Where the machine's own PCI tree is virtual, NCCL needs to be told the real one.
void check_topology_file(const CheckedEnvironment& checked, std::vector<Advice>& advice) {
  if (!checked.lacks("NCCL_TOPO_FILE") || checked.gpus_per_host == 1) return;
  std::string because;
  for (const std::string& host : checked.environment.hosts) {
    const auto found = checked.site.virtual_machines.find(host.substr(0, host.find('.')));
    if (found == checked.site.virtual_machines.end()) continue;
    because = host + " is of type " + found->second;
    break;
  }
  if (because.empty() && !checked.site.topology_file.empty()) {
    because = checked.site.topology_file + " is a file for it, written and not detected";
  }
  if (because.empty()) return;
  advice.push_back({"ncclTopologyMissing",
                    "warning",
                    "NCCL_TOPO_FILE is not set on machines whose PCI tree is virtual",
                    "likely: " + because +
                        "; NCCL also finds /var/run/nvidia-topologyd/virtualTopology.xml, and a network plugin may "
                        "bring a file",
                    "NCCL cannot see which adapter is near which GPU: traffic crosses CPUs, and GPUDirect may be off",
                    "NCCL_TOPO_FILE=FILE, with the file for this type of machine; see NCCL_DEBUG=INFO",
                    checked.environment.command,
                    {checked.environment.job}});
}

}  // namespace

void check_marks(const CheckedEnvironment& checked, std::vector<Advice>& advice) {
  if (!checked.may_span_hosts()) return;
  check_mark(checked, advice, "NCCL_IB_SL", true);
  check_mark(checked, advice, "NCCL_IB_TC", false);
  check_timeout(checked, advice);
}

void check_tuning(const CheckedEnvironment& checked, std::vector<Advice>& advice) {
  check_pinned(checked, advice);
  check_topology_file(checked, advice);
}

}  // namespace railweave::cli
