#include <cmath>

#include <fmt/core.h>

#include "services/railweave/lab/flows/file_fields.h"
#include "services/railweave/lab/flows/flow_job.h"
#include "services/railweave/terminal/command_failure.h"
#include "services/railweave/terminal/input_file.h"
#include "services/rest/json/jobs/job_spec.h"

namespace railweave::cli {
namespace {

constexpr double kMaxGuaranteedGbps = 1e6;

void read_bandwidth(const Json& bandwidth, const std::string& where, const fabric::QosClasses& classes,
                    JobRequestEntry& entry) {
  FileFields fields(bandwidth, where);
  const std::string model = fields.text("model", "hose");
  if (model != "hose" && model != "pattern") fields.refuse("model", "must be hose or pattern");
  entry.job.hose = model == "hose";
  entry.job.guaranteed_mbps = std::llround(fields.number("guaranteedGbpsPerPort", 0, kMaxGuaranteedGbps, 0) * 1000);
  entry.job.most_mbps = std::llround(fields.number("maxGbpsPerPort", 0, kMaxGuaranteedGbps, 0) * 1000);
  entry.job.survives_link_failure = fields.flag("surviveLinkFailure", false);
  const std::string name = fields.text("qosClass");
  fields.finish();
  if (entry.job.most_mbps > 0 && entry.job.most_mbps < entry.job.guaranteed_mbps) {
    fields.refuse("maxGbpsPerPort", "is less than guaranteedGbpsPerPort");
  }
  if (!name.empty()) {
    entry.job.qos_class = class_named(classes, name, where + "/qosClass");
    entry.class_given = true;
  }
}

}  // namespace

std::uint8_t last_class(const fabric::QosClasses& classes) {
  std::size_t last = 0;
  for (std::size_t c = 0; c < classes.size(); ++c) {
    if (classes[c].priority >= classes[last].priority) last = c;
  }
  return static_cast<std::uint8_t>(last);
}

std::uint8_t class_named(const fabric::QosClasses& classes, const std::string& name, const std::string& where) {
  std::string names;
  for (std::size_t c = 0; c < classes.size(); ++c) {
    if (classes[c].name == name) return static_cast<std::uint8_t>(c);
    names += (names.empty() ? "" : ", ") + classes[c].name;
  }
  throw CommandFailure({ErrorKind::invalid, "lab.noSuchClass", "there is no traffic class '" + name + "'", where,
                        "the classes are " + names + "; --classes FILE gives others"});
}

std::vector<JobRequestEntry> read_job_requests(const std::string& path, const fabric::QosClasses& classes) {
  const Json document = read_json_file(path, kMaxJobFileBytes * 16);
  const std::string source = source_name(path);
  std::vector<JobRequestEntry> entries;
  for (const Json& item : file_list(document, "jobs", source)) {
    const std::string where = fmt::format("{}: /jobs/{}", source, entries.size());
    if (!item.is_object())
      throw CommandFailure({ErrorKind::invalid, "lab.invalidFile", "an object is required", where, {}});
    JobRequestEntry entry;
    Json body = item;
    if (const auto bandwidth = body.find("bandwidth"); bandwidth != body.end()) {
      if (!bandwidth->is_null()) read_bandwidth(*bandwidth, where + "/bandwidth", classes, entry);
      body.erase("bandwidth");
    }
    auto spec = api::read_job_spec(body.dump(-1, ' ', false, Json::error_handler_t::replace));
    if (!spec) {
      Error error = spec.error();
      error.location = where + error.location;
      throw CommandFailure(std::move(error));
    }
    entry.spec = std::move(*spec);
    entry.job.name = entry.spec.name.empty() ? fmt::format("job-{}", entries.size() + 1) : entry.spec.name;
    entry.job.tenant = entry.spec.tenant;
    if (!entry.class_given) {  // as admission chooses: the first class bound by bandwidth for a guarantee
      entry.job.qos_class = last_class(classes);
      for (std::size_t c = classes.size(); entry.job.guaranteed_mbps > 0 && c-- > 0;) {
        if (classes[c].bound == fabric::ClassBound::bandwidth) entry.job.qos_class = static_cast<std::uint8_t>(c);
      }
    }
    for (const auto& other : entries) {
      if (other.job.name == entry.job.name) {
        throw CommandFailure(
            {ErrorKind::invalid, "lab.invalidFile", "two jobs have the name '" + entry.job.name + "'", where, {}});
      }
    }
    entries.push_back(std::move(entry));
  }
  return entries;
}

}  // namespace railweave::cli
