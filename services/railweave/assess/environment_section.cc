#include "fabric/base/plural.h"
#include "services/railweave/assess/nccl_checks.h"
#include "services/railweave/assess/sections.h"

namespace railweave::cli {
namespace {

std::string settings_of(const JobEnvironment& environment) {
  std::string text;
  for (const auto& [name, value] : environment.variables) text += (text.empty() ? "" : " ") + name + "=" + value;
  for (const std::string& name : environment.unknown) {
    text += (text.empty() ? "" : " ") + (name == "*" ? std::string("(more from elsewhere)") : name + "=?");
  }
  return text.empty() ? "-" : text;
}

Json environment_json(const JobEnvironment& environment) {
  return {{"job", environment.job},
          {"hosts", environment.hosts},
          {"variables", environment.variables},
          {"unknown", environment.unknown},
          {"whole", environment.whole}};
}

}  // namespace

ReportSection environment_section(const SiteView& site) {
  ReportSection section{.id = "environment", .title = "What NCCL is told"};
  const auto& environments = site.environments.jobs;
  if (environments.empty()) {
    section.text =
        "No environment of a job was given (env in a job, /proc/PID/environ, nccl.conf, a batch script, or "
        "kubectl get pods -A -o json).";
    return section;
  }
  Json rows = Json::array();
  ReportTable table{{"job", "hosts", "variables of NCCL"}, {}, 0};
  for (const JobEnvironment& environment : environments) {
    rows.push_back(environment_json(environment));
    table.add({environment.job, environment.hosts.empty() ? "-" : std::to_string(environment.hosts.size()),
               settings_of(environment)});
  }
  section.data["environments"] = std::move(rows);
  section.data["leftOut"] = site.environments.left_out;
  section.facts = {{"environments", std::to_string(environments.size())}};
  section.advice = environment_advice(site);
  section.tables.push_back(std::move(table));
  if (section.advice.empty()) section.text = "No mistake was found in them.";
  if (!site.classes) {
    section.text += std::string(section.text.empty() ? "" : " ") +
                    "Service levels and traffic classes are judged with --classes only.";
  }
  return section;
}

}  // namespace railweave::cli
