// What any host can ask of the subnet's administration: any 256 bytes, from any LID, are answered within bounds or dropped, and what a
// receiver of a table says, whatever it is, keeps its sending bounded. The first bytes are the requester.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "fabric/base/check.h"
#include "fabric/drivers/infiniband/administration/administrator.h"
#include "fabric/drivers/infiniband/administration/rmpp_sender.h"
#include "fabric/generate/generate.h"
#include "fabric/routing/engine_registry.h"
#include "tests/support/administered_fabric.h"

using namespace railweave;                      // NOLINT
using namespace railweave::fabric;              // NOLINT
using namespace railweave::fabric::infiniband;  // NOLINT

namespace {

const AdministeredSubnet& subnet() {
  static const auto fabric = [] {
    auto topology = std::make_shared<const Topology>(
        generate("fat-tree",
                 {{"hosts", "12"}, {"radix", "8"}, {"tiers", "2"}, {"gpus-per-host", "1"}, {"nics-per-host", "1"}})
            .value());
    RoutingInput input;
    input.view = FabricView(topology);
    input.scope = RoutingScope::make(topology, {.switch_management = true}).value();
    return new infiniband::testing::AdministeredFabric(choose_engine(*input.scope).engine->route(input).value(), 1,
                                                       [](PortId) { return std::uint8_t{4}; });
  }();
  return fabric->subnet();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  Mad mad{};
  std::copy_n(data + 1, std::min(size - 1, mad.size()), mad.begin());
  const SaHeader header = read_sa_header(mad);
  Mad written = mad;
  write_sa_header(written, header);
  RAILWEAVE_CHECK(read_sa_header(written) == header, "what is written is read");
  static const auto registrations = new Registrations;
  if (registrations->multicast.groups().empty()) registrations->multicast.follow(subnet());
  const SaAnswer answer = administer(&subnet(), mad, data[0], registrations);
  RAILWEAVE_CHECK(registrations->multicast.groups().size() <= MulticastBounds{}.groups, "groups are bounded");
  if (answer.kind == SaAnswer::Kind::dropped) return 0;
  RAILWEAVE_CHECK(answer.records.size() <= kMaxAnswerBytes, "answers are bounded");
  RAILWEAVE_CHECK((answer.header.method & kSaResponseBit) != 0, "an answer is one");
  if (answer.kind == SaAnswer::Kind::datagram) {
    RAILWEAVE_CHECK(answer.records.size() <= kSaDataBytes, "a datagram holds its records");
    (void)to_mad(answer);
    return 0;
  }
  std::size_t sent = 0;
  RmppSender sender({}, [&](const SaClient&, const Mad&) { ++sent; });
  RAILWEAVE_CHECK(sender.start({.lid = 1}, answer, {}), "there is room");
  SaHeader control = header;  // as if the receiver had said it
  control.rmpp.type = RmppType::ack;
  sender.take({.lid = 1}, control, {});
  RAILWEAVE_CHECK(sent <= 1 + RmppOptions{}.window, "no more than the window is sent");
  return 0;
}
