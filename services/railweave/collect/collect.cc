#include "services/railweave/collect/collect.h"

#include <memory>
#include <string>

#include "fabric/drivers/infiniband/umad_port.h"
#include "services/railweave/collect/subnet_tables.h"
#include "services/railweave/command_line/command_tree.h"
#include "services/railweave/command_line/number_option.h"
#include "services/railweave/terminal/command_failure.h"
#include "services/railweave/terminal/output_file.h"

namespace railweave::cli {
namespace {

struct Collection {
  std::string adapter, path;
  std::uint64_t port = 0;
};

void collect(Session& session, const Collection& from) {
  auto port = value_or_fail(
      fabric::infiniband::UmadPort::open({.adapter = from.adapter, .port = static_cast<unsigned>(from.port)}));
  fabric::infiniband::InfinibandOptions options{.mode = fabric::infiniband::SubnetMode::observe};
  options.naming = {.source = "the subnet of the local port", .subnet = "subnet"};
  fabric::infiniband::InfinibandDriver driver(std::move(port), options);
  write_file_or_stdout(session.output, from.path, value_or_fail(read_subnet_tables(driver)));
}

}  // namespace

void add_collect_command(CLI::App& guarantees, Session& session) {
  auto from = std::make_shared<Collection>();
  CLI::App& command = add_command(
      guarantees, "collect", "Read forwarding, lane, arbitration and key tables from the subnet, not the service",
      {"railweave guarantees collect -O tables.txt", "railweave guarantees collect --adapter mlx5_0 --port 1"});
  command.add_option("--adapter", from->adapter, "Ask through this adapter; by default the first with a link")
      ->type_name("NAME");
  add_number_option(command, "--port", from->port, "Port of the adapter; 0: the first with a link",
                    {.least = 0, .most = 254});
  add_output_file_option(command, from->path);
  on_run(command, session, [&session, from] { collect(session, *from); });
}

}  // namespace railweave::cli
