#include <algorithm>
#include <charconv>
#include <cstdint>
#include <unordered_set>
#include <vector>

#include <fmt/core.h>

#include "fabric/formats/infiniband/ibsim.h"
#include "fabric/formats/text/name_text.h"

namespace railweave::fabric {
namespace {

constexpr std::size_t kMaxPeerDescription = 64;  // ibsim reads at most 255 bytes of a line

class IbsimWriter {
 public:
  explicit IbsimWriter(const Topology& topology) : topology_(topology) {}

  std::string write() && {
    name_devices();
    text_ += "# ibsim netlist written by Railweave\n";
    for (const auto sw : topology_.switches()) {
      text_ += "\nswitchguid=0x";
      hex(topology_.guid(sw));
      header("Switch", topology_.ports(sw).size(), switch_ids_[sw.index()], topology_.description(sw));
      text_ += " enhanced port 0";
      lid_and_lmc(topology_.lid(sw), topology_.lmc(sw));
      text_ += '\n';
      for (const auto port : topology_.ports(sw)) cable(port);
    }
    for (const auto hca : topology_.hcas()) {
      const bool router = topology_.kind(hca) == HcaKind::router;
      text_ += router ? "\nrtguid=0x" : "\ncaguid=0x";
      hex(topology_.guid(hca));
      header(router ? "Rt" : "Ca", topology_.ports(hca).size(), hca_ids_[hca.index()], topology_.description(hca));
      text_ += '\n';
      for (const auto port : topology_.ports(hca)) cable(port);
    }
    return std::move(text_);
  }

 private:
  void number(std::uint64_t value, int base = 10) {
    char digits[24];
    const auto end = std::to_chars(digits, digits + sizeof digits, value, base).ptr;
    text_.append(digits, end);
  }
  void hex(Guid guid) { number(guid.value(), 16); }

  void name_devices() {
    std::unordered_set<std::string> used;
    const auto unique = [&](const char* prefix, Guid guid) {
      const std::string plain = fmt::format("{}{}", prefix, to_string(guid));
      std::string id = plain;
      for (unsigned n = 2; !used.insert(id).second; ++n) id = fmt::format("{}-{}", plain, n);
      return id;
    };
    for (const auto sw : topology_.switches()) switch_ids_.push_back(unique("S-", topology_.guid(sw)));
    for (const auto hca : topology_.hcas()) {
      hca_ids_.push_back(unique(topology_.kind(hca) == HcaKind::router ? "R-" : "H-", topology_.guid(hca)));
    }
  }

  void header(const char* type, std::size_t ports, const std::string& id, std::string_view description) {
    text_ += '\n';
    text_ += type;
    text_ += '\t';
    number(std::max<std::size_t>(ports, 1));  // a netlist knows no device without ports
    text_ += " \"";
    text_ += id;
    text_ += "\"\t\t# \"";
    text_ += escaped_name(description);
    text_ += '"';
  }

  void lid_and_lmc(Lid lid, std::uint8_t lmc) {
    text_ += " lid ";
    number(lid);
    text_ += " lmc ";
    number(lmc);
  }

  void cable(PortId port) {
    const PortId peer = topology_.peer(port);
    if (!peer) return;
    text_ += '[';
    number(topology_.number(port));
    text_ += ']';
    if (topology_.is_hca_port(port)) port_guid(port);
    const SwitchId peer_switch = topology_.switch_of(peer);
    const HcaId peer_hca = topology_.hca_of(peer);
    text_ += "\t\"";
    text_ += peer_switch ? switch_ids_[peer_switch.index()] : hca_ids_[peer_hca.index()];
    text_ += "\"[";
    number(topology_.number(peer));
    text_ += ']';
    if (peer_hca) port_guid(peer);
    text_ += "\t\t#";
    if (topology_.is_hca_port(port)) lid_and_lmc(topology_.lid(port), topology_.lmc(port));
    const auto description = peer_switch ? topology_.description(peer_switch) : topology_.description(peer_hca);
    text_ += " \"";
    if (description.size() <= kMaxPeerDescription) text_ += escaped_name(description);
    text_ += "\" lid ";
    number(peer_switch ? topology_.lid(peer_switch) : topology_.lid(peer));
    const LinkSpec spec = topology_.spec(topology_.link(port));
    if (spec.kind == LinkKind::infiniband && (spec.width != 0 || spec.speed != LinkSpeed::unknown)) {
      text_ += ' ';
      number(spec.width);
      text_ += 'x';
      text_ += spec.speed == LinkSpeed::unknown || spec.speed == LinkSpeed::other ? "???" : to_string(spec.speed);
    }
    text_ += '\n';
  }

  void port_guid(PortId port) {
    if (!topology_.port_guid(port).known()) return;
    text_ += '(';
    hex(topology_.port_guid(port));
    text_ += ')';
  }

  const Topology& topology_;
  std::vector<std::string> switch_ids_, hca_ids_;
  std::string text_;
};

}  // namespace

std::string write_ibsim(const Topology& topology) { return IbsimWriter(topology).write(); }

}  // namespace railweave::fabric
