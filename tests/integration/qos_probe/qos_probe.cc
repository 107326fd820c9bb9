// qos_probe STORE FABRIC.json SUBNET FILES_FOLDER
//   A control loop and the live subnet of the first port, as railweaved runs them. Per line of stdin, one answer:
//     tenant NAME [free]     a tenant, with a contract unless `free`        -> its PKey, 0: none
//     job TENANT TENSOR DATA -> its number     end NUMBER -> ok      mode observe|direct|opensm -> ok
//     cut                    counts the repairs so far                    -> their number, and how long the last took
//     status                 -> PHASE CLASSES PARTITIONS PROGRAMMED PENDING FILES_WRITTEN PROBLEM
#include <chrono>
#include <fstream>
#include <future>
#include <iostream>
#include <sstream>
#include <string>

#include "db/sqlite/sqlite_journal.h"
#include "fabric/drivers/infiniband/infiniband_driver.h"
#include "fabric/drivers/infiniband/umad_port.h"
#include "fabric/formats/native/native_json.h"
#include "fabric/topology/topology_builder.h"
#include "services/control/codec/journal_codec.h"
#include "services/control/control_loop.h"
#include "services/control/live/live_subnets.h"
#include "services/json/digest.h"

using namespace railweave;

namespace {

namespace ib = fabric::infiniband;

Result<std::unique_ptr<fabric::FabricDriver>> connect(const std::string& subnet, control::SubnetMode mode) {
  const bool manages = mode == control::SubnetMode::direct;
  auto port = ib::UmadPort::open({.take_traps = manages, .is_sm = manages});
  if (!port) return std::unexpected(port.error());
  ib::InfinibandOptions options;
  options.mode = manages                               ? ib::SubnetMode::direct
                 : mode == control::SubnetMode::opensm ? ib::SubnetMode::beside
                                                       : ib::SubnetMode::observe;
  options.naming = {.source = "subnet " + subnet, .subnet = subnet};
  return std::make_unique<ib::InfinibandDriver>(std::move(*port), options);
}

control::CommandResult ask(control::ControlLoop& loop, decltype(control::Command::body) body) {
  std::promise<control::CommandResult> answer;
  auto future = answer.get_future();
  const bool queued = loop.submit({"test", std::move(body)},
                                  [&](control::CommandResult result) { answer.set_value(std::move(result)); });
  if (!queued) std::exit(3);
  return future.get();
}

void must(control::ControlLoop& loop, decltype(control::Command::body) body) {
  const auto done = ask(loop, std::move(body));
  if (done) return;
  std::cerr << done.error().error.text() << std::endl;
  std::exit(3);
}

std::string answer(const std::string& line, control::ControlLoop& loop, const control::LiveSubnets& live,
                   const std::string& subnet) {
  std::istringstream words(line);
  std::string what;
  std::string name;
  words >> what >> name;
  if (what == "tenant") {
    std::string kind;
    words >> kind;
    must(loop, control::PutTenant{{.name = name}, {}});
    if (kind == "free") return "0";
    must(loop, control::PutContract{{.tenant = name, .isolated = kind == "isolated"}, {}});
    return std::to_string(loop.state()->contracts->at(name).pkey);
  }
  if (what == "job") {
    control::SubmitJob job;
    job.spec.name = "job";
    job.spec.tenant = name;
    words >> job.spec.parallelism.tensor >> job.spec.parallelism.data;
    const auto placed = ask(loop, std::move(job));
    return placed ? std::to_string(placed->job.number()) : placed.error().error.text();
  }
  if (what == "end") {
    must(loop, control::EndJob{control::JobId(std::stoull(name)), control::JobState::completed, "", {}});
    return "ok";
  }
  if (what == "mode") {
    must(loop, control::SetSubnetMode{subnet, *parse_enum<control::SubnetMode>(name), "test", {}});
    return "ok";
  }
  const auto status = live.subnet(subnet);
  if (what == "cut") {
    return std::to_string(status->repairs_total) + " " +
           std::to_string(status->repairs.empty() ? 0 : status->repairs.back().programmed_us);
  }
  const auto qos = status->qos.value_or(control::QosStatus());
  std::ostringstream text;
  text << control::to_string(status->phase) << ' ' << qos.classes << ' ' << qos.partitions << ' '
       << qos.ports_programmed << ' ' << qos.ports_pending << ' ' << qos.files_written_us << ' ' << qos.problem
       << status->problem;
  return text.str();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  const std::string subnet = argv[3];
  std::ifstream file(argv[2]);
  const std::string document{std::istreambuf_iterator<char>(file), {}};
  fabric::TopologyBuilder builder;
  if (const auto read = fabric::read_native_json(document, {.source = argv[2]}, builder); !read) {
    std::cerr << read.error().text() << std::endl;
    return 1;
  }
  auto topology = std::move(builder).build();
  auto journal = db::open_sqlite_journal(argv[1]);
  if (!topology || !journal) return 1;
  const api::JournalCodec codec;
  control::ControlLoop loop(**journal, codec, {});
  if (!loop.recover()) return 1;
  loop.start();
  must(loop, control::AcceptTopology{std::make_shared<const fabric::Topology>(std::move(*topology)),
                                     std::make_shared<const std::string>(document), api::sha256_hex(document), "test",
                                     false, std::nullopt});
  control::SubnetOptions options{.subnet = subnet, .port = "first"};
  options.opensm_files = argv[4];
  options.sweep_every = std::chrono::seconds(5);
  std::vector<control::LiveSubnets::Subnet> subnets;
  subnets.push_back({options, [subnet](control::SubnetMode mode) { return connect(subnet, mode); }, ""});
  control::LiveSubnets live(loop, std::move(subnets), {});
  if (!live.start()) return 1;
  std::cout << "ready" << std::endl;
  for (std::string line; std::getline(std::cin, line);) std::cout << answer(line, loop, live, subnet) << std::endl;
  live.stop();
  loop.stop();
  return 0;
}
