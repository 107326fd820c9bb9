// The sections of a report, each in a file of its name.
#pragma once

#include "services/railweave/assess/report.h"
#include "services/railweave/assess/site_view.h"

namespace railweave::cli {

ReportSection fabric_section(const SiteView& site);
ReportSection routes_section(const SiteView& site);
ReportSection jobs_section(const SiteView& site);
ReportSection environment_section(const SiteView& site);
ReportSection past_section(const SiteView& site);
ReportSection headroom_section(const SiteView& site);

}  // namespace railweave::cli
