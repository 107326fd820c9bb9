// The documents of the policy socket, and the file of the cabling: any bytes, in pieces of any size. The first byte
// chooses the reader and the size of the pieces.
#include <cstdlib>
#include <string_view>

#include "fabric/drivers/opensm/protocol/policy_event.h"
#include "fabric/drivers/opensm/protocol/policy_reader.h"
#include "fabric/drivers/opensm/routing/cabling.h"

namespace {

using namespace railweave;                  // NOLINT
using namespace railweave::fabric::opensm;  // NOLINT

void require(bool holds) {
  if (!holds) std::abort();
}

void read_documents(std::string_view text, std::size_t piece) {
  PolicyReader whole, cut;
  std::vector<Result<RoutingPolicy>> at_once, in_pieces;
  bool readable = whole.feed(text, at_once);
  for (std::string_view rest = text; !rest.empty() && readable; rest.remove_prefix(std::min(piece, rest.size()))) {
    readable = cut.feed(rest.substr(0, piece), in_pieces);
  }
  require(at_once.size() == in_pieces.size());
  for (std::size_t i = 0; i < at_once.size(); ++i) {
    require(at_once[i].has_value() == in_pieces[i].has_value());
    if (!at_once[i]) continue;
    require(*at_once[i] == *in_pieces[i]);
    require(read_policy(write_policy(*at_once[i])).value() == *at_once[i]);
  }
}

void read_events(std::string_view text) {
  LineSplitter lines;
  lines.feed(text, [](std::string_view line, bool whole) {
    if (!whole) return;
    if (const auto subnet = read_hello(line))
      require(read_hello(write_hello(*subnet).substr(0, 28)).value() == *subnet);
    const auto event = read_event(line);
    if (!event) return;
    const std::string written = write_event(*event);
    require(read_event(std::string_view(written).substr(0, written.size() - 1)).value() == *event);
  });
}

void read_remembered(std::string_view text) {
  const auto cabling = read_cabling(text);
  if (!cabling) return;
  require(read_cabling(write_cabling(*cabling)).value() == *cabling);
  Cabling learned = *cabling;
  learned.learn(*cabling);
  (void)learned.broken();
  (void)learned.topology({});
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 3) {
    case 0:
      read_documents(text, 1U + data[0] / 3U);
      break;
    case 1:
      read_events(text);
      break;
    default:
      read_remembered(text);
  }
  return 0;
}
