// Mistakes in what environments tell NCCL, against the fabric and by NCCL's own documentation ("Environment Variables" of
// its user guide, 2.4 to 2.30). A variable whose value is not known is judged by nothing.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "services/railweave/assess/advice.h"
#include "services/railweave/assess/host_adapters.h"
#include "services/railweave/assess/job_environment.h"
#include "services/railweave/assess/site_view.h"

namespace railweave::cli {

// What is looked at for every environment of a site, worked out once. The view must outlive it.
struct CheckedSite {
  explicit CheckedSite(const SiteView& site);
  const SiteView& view;
  AdaptersOfHosts adapters;
  std::set<std::string> told_by_files;  // variables in files that are read by all processes; "*": any may be in one
};

// One environment beside what the fabric has. References must outlive it.
struct CheckedEnvironment {
  const CheckedSite& checks;
  const SiteView& site;
  const JobEnvironment& environment;
  std::vector<std::reference_wrapper<const HostAdapters>> hosts;  // of the job, those that cables know
  std::vector<fabric::HostId> host_ids;
  double gpus_per_host = 0;  // the most of one host; 0: not known

  // The job has, or may have, ranks on several hosts.
  [[nodiscard]] bool may_span_hosts() const { return environment.host_count != 1; }
  // Not set, by this process or by a file that is read by all of them.
  [[nodiscard]] bool lacks(const std::string& name) const;
  // The value as an integer is not 0, as NCCL reads its switches.
  [[nodiscard]] bool is_on(const std::string& name) const;
  // "NAME=VALUE"
  [[nodiscard]] std::string setting(const char* name) const;
  // About this environment; what it costs and what to do is for the caller to say.
  [[nodiscard]] Advice advice(const char* code, const char* severity, std::string title) const;
};

CheckedEnvironment checked_environment(CheckedSite& site, const JobEnvironment& environment);

// Each adds what it finds; an Advice names the one environment as its object.
void check_adapters(const CheckedEnvironment& checked, std::vector<Advice>& advice);
void check_transports(const CheckedEnvironment& checked, std::vector<Advice>& advice);
void check_marks(const CheckedEnvironment& checked, std::vector<Advice>& advice);
void check_tuning(const CheckedEnvironment& checked, std::vector<Advice>& advice);

// All of these; equal findings of several jobs become one that names them all.
std::vector<Advice> environment_advice(const SiteView& site);

}  // namespace railweave::cli
