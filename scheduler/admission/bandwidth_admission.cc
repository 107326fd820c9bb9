#include "scheduler/admission/bandwidth_admission.h"

#include <algorithm>
#include <map>

#include <fmt/core.h>

#include "fabric/base/rate_text.h"
#include "fabric/capacity/lane_owners.h"

namespace railweave::scheduler {
namespace {

Rejected reject(ErrorKind kind, std::string code, std::string message, std::string location = {},
                std::string hint = {}) {
  return {Error{kind, std::move(code), std::move(message), std::move(location), std::move(hint)}, {}};
}

std::string gbps(std::int64_t mbps) { return rate_text(RateMbps(mbps)); }

Rejected reject_saying(ErrorKind kind, std::string code, Message said, std::string hint) {
  return {error_of(kind, std::move(code), std::move(said), {}, std::move(hint)), {}};
}

std::vector<MessagePart> named_holders(const std::vector<fabric::FullLink::Holder>& holders, bool with_rates) {
  std::vector<MessagePart> parts;
  for (const auto& holder : holders) {
    parts.push_back(job_part(holder.job, with_rates ? gbps(holder.mbps) : std::string()));
  }
  return parts;
}

}  // namespace

std::vector<fabric::HosePort> hose_to(std::span<const fabric::PortId> ports, std::int64_t rate_mbps,
                                      std::span<const fabric::HosePort> receivers) {
  std::map<fabric::PortId, fabric::HosePort> hose;
  for (const fabric::PortId port : ports) hose[port] = {port, rate_mbps, rate_mbps};
  for (const fabric::HosePort& one : receivers) {
    hose.try_emplace(one.port, fabric::HosePort{one.port, 0, 0}).first->second.receive_mbps += one.receive_mbps;
  }
  std::vector<fabric::HosePort> list;
  for (const auto& [port, one] : hose) list.push_back(one);
  return list;
}

std::string directed_link_text(const fabric::Topology& topology, fabric::DirectedLink link) {
  const fabric::PortId out = fabric::out_port_of(topology, link);
  return topology.port_text(out) + "->" + topology.port_text(topology.peer(out));
}

Result<std::uint8_t> BandwidthAdmission::class_of(const Contract& contract, const BandwidthRequest& request) const {
  std::string wanted = request.qos_class;
  if (wanted.empty() && !contract.classes.empty()) wanted = contract.classes.front();
  for (std::size_t i = 0; i < classes_.size(); ++i) {
    if (wanted.empty() ? classes_[i].bound == fabric::ClassBound::bandwidth : classes_[i].name == wanted) {
      if (!contract.classes.empty() &&
          std::ranges::find(contract.classes, classes_[i].name) == contract.classes.end()) {
        return fail(ErrorKind::conflict, "admission.classNotAllowed",
                    contract.tenant + " may not use class " + classes_[i].name, "/class");
      }
      return static_cast<std::uint8_t>(i);
    }
  }
  return fail(ErrorKind::notFound, "admission.unknownClass", "there is no class '" + wanted + "'", "/class");
}

Rejected BandwidthAdmission::full(const Contract& contract, const fabric::Reservation& wanted,
                                  std::vector<fabric::FullLink> links) const {
  const fabric::Topology& t = loads_.view().topology();
  const fabric::FullLink& first = links.front();
  Message said("admission.linksFull",
               {fmt::format("{}{} too little left for {} of {} in class {}: ", links.size(),
                            links.size() == 1 ? " link has" : " or more links have", wanted.job, contract.tenant,
                            classes_[wanted.qos_class].name),
                LinkPart{directed_link_text(t, first.link)},
                " would carry " + gbps(first.wanted_mbps) + " beside " + gbps(first.reserved_mbps)});
  if (!first.holders.empty()) {
    said += " (";
    append_list(said, named_holders(first.holders, true));
    said += ")";
  }
  said += " of " + gbps(first.limit_mbps);
  Rejected rejected =
      reject_saying(ErrorKind::conflict, "admission.linksFull", std::move(said),
                    "ask for at most " + gbps(std::max<std::int64_t>(0, first.limit_mbps - first.reserved_mbps)) +
                        " on that link, for the pattern instead of the hose, or for other ports");
  for (fabric::FullLink& link : links) rejected.links.push_back({directed_link_text(t, link.link), std::move(link)});
  return rejected;
}

std::optional<Rejected> BandwidthAdmission::take_lane(const BandwidthRequest& request,
                                                      fabric::Reservation& wanted) const {
  const fabric::Topology& t = loads_.view().topology();
  if (wanted.loads.empty()) return std::nullopt;
  if (owned_lanes_ == 0) {
    return reject(ErrorKind::impossible, "admission.noLanes",
                  "ports have no lane left that " + wanted.job + " of " + wanted.tenant +
                      " could have of its own: classes, each with the lanes that the routing needs, take all",
                  {}, "use fewer classes, or set isolation to planned in the contract");
  }
  wanted.lane = fabric::free_lane(ledger_, wanted.loads, owned_lanes_, request.lane);
  if (wanted.lane) return std::nullopt;
  auto links = fabric::crowded_links(ledger_, wanted.loads, wanted.qos_class);
  Message said(
      "admission.lanesTaken",
      {fmt::format("each of the {} lanes that jobs may have of their own is taken on some link of {} of {}, most on ",
                   owned_lanes_, wanted.job, wanted.tenant),
       LinkPart{directed_link_text(t, links.front().link)}, " by "});
  append_list(said, named_holders(links.front().holders, false));
  Rejected rejected = reject_saying(ErrorKind::conflict, "admission.lanesTaken", std::move(said),
                                    "wait for one of these jobs to end, or ask for other nodes");
  for (fabric::FullLink& link : links) rejected.links.push_back({directed_link_text(t, link.link), std::move(link)});
  return rejected;
}

AdmissionResult BandwidthAdmission::admit(const Contract& contract, const BandwidthRequest& request) {
  if (const auto checked = check_contract(contract); !checked) return Rejected{checked.error(), {}};
  const auto qos_class = class_of(contract, request);
  if (!qos_class) return Rejected{qos_class.error(), {}};
  if (ledger_.find(request.job, *qos_class) != nullptr) {
    return reject(ErrorKind::conflict, "admission.alreadyAdmitted", request.job + " has a reservation in that class");
  }
  const bool hose = contract.promise == fabric::TrafficPromise::hose;
  const auto share = static_cast<std::int64_t>(
      contract.basis == RateBasis::per_job ? std::max<std::size_t>(1, request.ports.size()) : 1);
  const std::int64_t rate = contract.guaranteed.value() / share;
  if (hose ? request.ports.empty() || rate <= 0 : request.flows.empty()) {
    return reject(ErrorKind::invalid, "admission.nothingPromised",
                  hose ? "a hose promise needs ports and a rate above 0" : "a pattern promise needs flows");
  }

  auto wanted = std::make_shared<fabric::Reservation>();
  wanted->job = request.job;
  wanted->tenant = contract.tenant;
  wanted->qos_class = *qos_class;
  wanted->promise = contract.promise;
  wanted->survives_link_failure = contract.survives_link_failure;
  wanted->reserved_permille = contract.reserved_permille;
  wanted->order = request.order;
  std::vector<fabric::PortId> ports = request.ports;
  if (hose) {
    wanted->ports = hose_to(ports, rate, request.receivers);
  } else {
    wanted->flows = request.flows;
    for (const fabric::PatternFlow& flow : request.flows) ports.push_back(flow.ports.from);
  }
  std::ranges::sort(ports);
  ports.erase(std::unique(ports.begin(), ports.end()), ports.end());

  Admitted admitted;
  fabric::PromisedLoad load;
  if (contract.survives_link_failure && surviving_) {
    auto surviving = surviving_(*wanted);
    if (!surviving) return Rejected{surviving.error(), {}};
    load = std::move(surviving->worst);
    admitted.failures_covered = std::move(surviving->covered);
    admitted.failures_not_covered = std::move(surviving->not_covered);
  } else {
    if (contract.survives_link_failure) {
      return reject(ErrorKind::unavailable, "admission.noRerouting",
                    "the routes after a link failure cannot be computed here");
    }
    load = fabric::load_of_promise(*wanted, loads_);
  }
  if (!load.complete) {
    return reject(ErrorKind::conflict, "admission.notConnected",
                  "some ports of " + request.job + " cannot reach each other with the present routes");
  }
  wanted->loads = std::move(load.loads);
  auto links = ledger_.full_links(wanted->loads, *qos_class);
  if (links.empty() && contract.isolation == Isolation::lane) {
    if (auto refused = take_lane(request, *wanted)) return std::move(*refused);
  }
  if (links.empty()) {
    links = promises_.full_links(loads_.view().topology(), ledger_, {wanted->loads, *qos_class, wanted->lane});
  }
  if (!links.empty()) return full(contract, *wanted, std::move(links));

  const std::int64_t most = contract.most ? contract.most->value() / share : 0;
  for (const fabric::PortId port : ports) {
    std::int64_t needed = rate;
    if (!hose) {
      needed = fabric::load_on(wanted->loads, fabric::directed_link(loads_.view().topology(), port));
    }
    admitted.caps.push_back(
        source_cap(port, RateMbps(needed), contract.most ? RateMbps(std::max(most, needed)) : RateMbps(0)));
  }
  if (contract.reserved_permille < 1000) {
    admitted.warnings.push_back(
        fmt::format("only {} of 1000 of the rate is reserved: not guaranteed when all tenants send at their rates",
                    contract.reserved_permille));
  }
  admitted.reservation = std::move(wanted);
  return admitted;
}

}  // namespace railweave::scheduler
