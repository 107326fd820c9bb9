// Reads flows from a file in JSON or CSV.
#include <algorithm>
#include <charconv>
#include <set>

#include <fmt/core.h>

#include "fabric/base/decimal_number.h"
#include "services/railweave/lab/flows/file_fields.h"
#include "services/railweave/lab/flows/flow_job.h"
#include "services/railweave/terminal/command_failure.h"
#include "services/railweave/terminal/input_document.h"
#include "services/railweave/terminal/input_file.h"

namespace railweave::cli {
namespace {

constexpr std::size_t kMaxTrafficFileBytes = std::size_t{64} << 20U;
constexpr double kMaxGbps = 1e6;

struct GivenFlow {
  std::string from, to, qos_class, job;
  double rate_gbps = 0;
  std::string where;
};

[[noreturn]] void refuse(const std::string& where, std::string message, std::string hint = {}) {
  throw CommandFailure({ErrorKind::invalid, "lab.invalidFile", std::move(message), where, std::move(hint)});
}

std::vector<GivenFlow> from_json(const Json& document, const std::string& source) {
  std::vector<GivenFlow> flows;
  for (const Json& item : file_list(document, "flows", source)) {
    GivenFlow flow{.where = fmt::format("{}: /flows/{}", source, flows.size())};
    FileFields fields(item, flow.where);
    fields.require("from");
    fields.require("to");
    flow.from = fields.text("from");
    flow.to = fields.text("to");
    flow.qos_class = fields.text("class");
    flow.job = fields.text("job");
    flow.rate_gbps = fields.number("rateGbps", 0, kMaxGbps, 0);
    fields.finish();
    flows.push_back(std::move(flow));
  }
  return flows;
}

std::vector<std::string> cells_of(std::string_view line) {
  std::vector<std::string> cells(1);
  for (const char c : line) {
    if (c == ',') {
      cells.emplace_back();
    } else if (c != '\r' && !(c == ' ' && cells.back().empty())) {
      cells.back() += c;
    }
  }
  for (auto& cell : cells) cell.erase(cell.find_last_not_of(' ') + 1);
  return cells;
}

std::vector<GivenFlow> from_csv(std::string_view text, const std::string& source) {
  std::vector<GivenFlow> flows;
  std::vector<std::string> heading;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const auto cells = cells_of(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (cells.size() == 1 && cells[0].empty()) continue;
    GivenFlow flow{.where = fmt::format("{}: line {}", source, number)};
    if (heading.empty()) {
      heading = cells;
      for (const auto& name : heading) {
        if (name != "from" && name != "to" && name != "class" && name != "rateGbps" && name != "job") {
          refuse(flow.where, "unknown column '" + name + "'", "the columns are from, to, class, rateGbps, job");
        }
      }
      for (const char* needed : {"from", "to"}) {
        if (std::ranges::find(heading, needed) == heading.end()) {
          refuse(flow.where, fmt::format("the column '{}' is missing", needed));
        }
      }
      continue;
    }
    if (cells.size() != heading.size()) {
      refuse(flow.where, fmt::format("expected {} cells, found {}", heading.size(), cells.size()));
    }
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (heading[i] == "from") flow.from = cells[i];
      if (heading[i] == "to") flow.to = cells[i];
      if (heading[i] == "class") flow.qos_class = cells[i];
      if (heading[i] == "job") flow.job = cells[i];
      if (heading[i] != "rateGbps" || cells[i].empty()) continue;
      const auto rate = decimal_number(cells[i], std::chars_format::fixed);
      if (!rate || *rate < 0 || *rate > kMaxGbps) refuse(flow.where, "'" + cells[i] + "' is not a rate in Gb/s");
      flow.rate_gbps = *rate;
    }
    flows.push_back(std::move(flow));
  }
  return flows;
}

fabric::PortId port_named(const fabric::Topology& topology, const std::string& text, const std::string& where) {
  if (const fabric::HostId host = topology.find_host(text)) {
    for (const fabric::HcaId hca : topology.hcas(host)) {
      for (const fabric::PortId port : topology.ports(hca)) {
        if (topology.peer(port)) return port;
      }
    }
    refuse(where, "host '" + text + "' has no cabled adapter");
  }
  const fabric::PortId port = topology.find_port(text);
  if (port && topology.is_hca_port(port) && topology.peer(port)) return port;
  throw CommandFailure(
      {ErrorKind::notFound, "lab.noSuchPort",
       port ? "'" + text + "' is not a cabled port of an adapter" : "the fabric has no host or port '" + text + "'",
       where, "name a host, or a port as GUID/PORT or HOST/DEVICE/PORT"});
}

}  // namespace

void add_traffic_file(const std::string& path, const fabric::Topology& topology, const fabric::QosClasses& classes,
                      std::vector<FlowJob>& jobs) {
  const std::string text = value_or_fail(read_input(path, kMaxTrafficFileBytes));
  const std::string source = source_name(path);
  const auto first = text.find_first_not_of(" \t\r\n");
  const bool document = (first != std::string::npos && (text[first] == '[' || text[first] == '{')) ||
                        path.ends_with(".yaml") || path.ends_with(".yml");
  const auto flows = document ? from_json(value_or_fail(parse_document(text, source)), source) : from_csv(text, source);
  if (flows.empty()) refuse(source, "the file has no flows");
  std::set<std::string> replaced;
  for (const GivenFlow& flow : flows) {
    const auto known = std::ranges::find(jobs, flow.job, &FlowJob::name);
    if (!flow.job.empty() && known == jobs.end()) refuse(flow.where, "there is no job '" + flow.job + "'");
    FlowJob* job = known == jobs.end() ? nullptr : &*known;
    if (job == nullptr || flow.job.empty()) {
      const std::uint8_t own =
          flow.qos_class.empty() ? last_class(classes) : class_named(classes, flow.qos_class, flow.where);
      const std::string name = "traffic in " + classes[own].name;
      const auto at = std::ranges::find(jobs, name, &FlowJob::name);
      if (at != jobs.end()) {
        job = &*at;
      } else {
        jobs.push_back({.name = name, .outcome = "given", .qos_class = own});
        job = &jobs.back();
      }
    } else {
      if (job->outcome != "placed") refuse(flow.where, "job '" + flow.job + "' is not placed");
      if (replaced.insert(flow.job).second) {
        job->traffic.clear();
        job->assumed_traffic = false;
      }
    }
    const fabric::EndPortPair ports{port_named(topology, flow.from, flow.where),
                                    port_named(topology, flow.to, flow.where)};
    if (ports.from == ports.to) refuse(flow.where, "a port sends to itself");
    for (const fabric::PortId port : {ports.from, ports.to}) {
      if (job->outcome == "placed" && std::ranges::find(job->ports, port) == job->ports.end()) {
        refuse(flow.where, "port " + topology.port_text(port) + " does not belong to job '" + job->name + "'");
      }
    }
    job->traffic.push_back({ports, 1, flow.rate_gbps * 1000});
  }
}

}  // namespace railweave::cli
