#include "services/railweave/site/merged_fabric.h"

#include "fabric/formats/native/native_json.h"
#include "fabric/topology/checks/checks.h"
#include "services/railweave/site/fabric_report.h"

namespace railweave::cli {

MergedFabric merge_files(const std::vector<SiteFile>& files, const fabric::SiteImportOptions& options) {
  const auto topology = fabric_of(files, options);
  return {fabric::write_native_json(*topology),
          fabric_report(fabric::summarize(*topology), fabric::check_fabric(*topology))};
}

}  // namespace railweave::cli
