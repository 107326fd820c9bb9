#include "services/railweave/commands/switches/switch_tables.h"

#include <cstddef>

#include "services/railweave/command_line/number_option.h"
#include "services/railweave/terminal/command_failure.h"
#include "services/railweave/terminal/input_document.h"

namespace railweave::cli {
namespace {

constexpr std::size_t kNamesLimitBytes = 64U << 20U;

}  // namespace

Json table_of_switch(Service& service, const std::string& id) {
  Json table = Json::array();
  service.each_item(
      Target("/v1/switches").segment(id).path("/forwarding-table"), 0,
      [&](const Json& entry) { table.push_back(entry); }, [&] { table.clear(); });
  return table;
}

void add_names_option(CLI::App& command, std::string& file) {
  command
      .add_option(
          "--names", file,
          "JSON or YAML: addresses by device (an adapter, a switch), interfaces and gateways by number of the port; "
          "those of one switch in switches, by its name")
      ->type_name("FILE");
}

void add_port_step_option(CLI::App& command, std::uint64_t& step) {
  add_number_option(command, "--ethernet-step", step, "Step between the numbers of SONiC's ports", {1, 16});
}

Json read_names_document(const std::string& file) {
  return file.empty() ? Json() : value_or_fail(read_document(file, kNamesLimitBytes));
}

}  // namespace railweave::cli
