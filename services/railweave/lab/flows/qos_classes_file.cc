#include "services/railweave/lab/flows/qos_classes_file.h"

#include <fmt/core.h>

#include "services/railweave/lab/flows/file_fields.h"
#include "services/railweave/terminal/command_failure.h"
#include "services/railweave/terminal/input_file.h"

namespace railweave::cli {

fabric::QosClasses read_qos_classes(const std::string& path) {
  if (path.empty()) return fabric::default_qos_classes();
  const Json document = read_json_file(path, kMaxJobFileBytes);
  const std::string source = source_name(path);
  fabric::QosClasses classes;
  const char* name = field(document, "items").is_array() ? "items" : "classes";
  for (const Json& item : file_list(document, name, source)) {
    FileFields fields(item, fmt::format("{}: /classes/{}", source, classes.size()));
    fabric::QosClass one;
    for (const char* needed : {"name", "sharePermille", "dscp"}) fields.require(needed);
    one.name = fields.text("name");
    one.share_permille = static_cast<std::uint32_t>(fields.number("sharePermille", 0, 1000, 0));
    one.priority = static_cast<std::uint8_t>(fields.number("priority", 0, 255, static_cast<double>(classes.size())));
    one.dscp = static_cast<std::uint8_t>(fields.number("dscp", 0, 63, 0));
    one.lossless = fields.flag("lossless", true);
    one.open = fields.flag("open", false);
    const std::string bound = fields.text("bound", "bandwidth");
    if (bound != "latency" && bound != "bandwidth") fields.refuse("bound", "must be latency or bandwidth");
    one.bound = bound == "latency" ? fabric::ClassBound::latency : fabric::ClassBound::bandwidth;
    fields.finish();
    classes.push_back(std::move(one));
  }
  auto checked = fabric::check_qos_classes(classes);
  if (!checked) {
    checked.error().location = source + ": " + checked.error().location;
    throw CommandFailure(checked.error());
  }
  return classes;
}

}  // namespace railweave::cli
