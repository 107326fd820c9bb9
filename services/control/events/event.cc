#include "services/control/events/event.h"

#include <algorithm>

#include <fmt/core.h>

#include "fabric/base/rate_text.h"
#include "fabric/base/text/time_text.h"
#include "services/control/state/link_state.h"

namespace railweave::control {
namespace {

std::string counted(std::size_t count, const char* thing) {
  return fmt::format("{} {}{}", count, thing, count == 1 ? "" : "s");
}

// A link is a link to who looks for its events, whatever it joins.
std::string subject_kind(const DrainTarget& target) {
  return std::string(to_string(target.kind == DrainKind::site_link ? DrainKind::link : target.kind));
}

Message named(JobId id) { return {"", {JobPart{id.number()}}}; }

Message named(const Job& job) {
  return {"",
          {JobPart{job.id.number(), job.spec.name.empty() ? "" : "'" + job.spec.name + "'"}, " of ",
           TenantPart{job.spec.tenant}}};
}

struct MakeHeading {
  EventHeading operator()(const TopologyAccepted& event) const {
    const auto& topology = *event.topology;
    if (!event.as_cabled.empty()) {
      return {"topology.accepted", "topology", event.digest.substr(0, 12),
              event.exchanged == 0 ? EventSeverity::info : EventSeverity::warning,
              event.exchanged == 0
                  ? "subnet " + event.as_cabled + " is cabled as accepted again"
                  : "cables of subnet " + event.as_cabled + " were exchanged and are used as they are: " +
                        counted(event.exchanged, "link") + " of the fabric not as accepted"};
    }
    return {"topology.accepted", "topology", event.digest.substr(0, 12), EventSeverity::info,
            fmt::format("fabric of {} hosts, {} switches and {} GPUs accepted from {}", topology.hosts().size(),
                        topology.switches().size(), topology.gpus().size(), event.source)};
  }
  EventHeading operator()(const TopologyDiffers& event) const {
    return {"topology.differs", event.subject_kind, event.subject_id, EventSeverity::warning, event.text};
  }
  EventHeading operator()(const TenantPut& event) const {
    const auto& tenant = event.tenant;
    return {"tenant.put", "tenant", tenant.name, EventSeverity::info,
            "tenant " + tenant.name +
                (tenant.max_gpus ? fmt::format(" may hold {} GPUs", *tenant.max_gpus) : " has no GPU limit")};
  }
  EventHeading operator()(const TenantRemoved& event) const {
    return {"tenant.removed", "tenant", event.name, EventSeverity::info, "tenant " + event.name + " removed"};
  }
  EventHeading operator()(const TokenIssued& event) const {
    const auto& token = event.token;
    return {"token.issued", "token", token.id, EventSeverity::info,
            fmt::format("token of {} issued, {}{}{}", token.name, to_text(token.role),
                        token.tenant.empty() ? "" : " of tenant " + token.tenant,
                        token.node.empty() ? "" : " of node " + token.node)};
  }
  EventHeading operator()(const TokenRevoked& event) const {
    return {"token.revoked", "token", event.id, EventSeverity::info, "token of " + event.name + " revoked"};
  }
  EventHeading operator()(const LeaderBegan& event) const {
    return {"leader.began", "leader", event.name, EventSeverity::warning,
            event.name + " leads" + (event.url.empty() ? "" : ", at " + event.url)};
  }
  EventHeading operator()(const JobQueued& event) const {
    const auto& job = *event.job;
    return {"job.queued", "job", to_string(job.id), EventSeverity::info,
            named(job) + " waits for " + counted(scheduler::rank_count(job.spec.parallelism), "GPU")};
  }
  EventHeading operator()(const JobWaits& event) const {
    return {"job.waits", "job", to_string(event.id), EventSeverity::info, named(event.id) + " waits: " + event.text};
  }
  EventHeading operator()(const JobEvicted& event) const {
    return {"job.evicted", "job", to_string(event.id), EventSeverity::warning,
            named(event.id) + " is queued again, " + event.reason};
  }
  EventHeading operator()(const JobAccepted& event) const {
    return {"job.accepted", "job", to_string(event.id), EventSeverity::info,
            named(event.id) + " is accepted by its launcher"};
  }
  EventHeading operator()(const JobRunning& event) const {
    return {"job.running", "job", to_string(event.id), EventSeverity::info, named(event.id) + " runs"};
  }
  EventHeading operator()(const JobReleasing& event) const {
    const bool evicted = event.becomes == JobState::queued;
    return {"job.releasing", "job", to_string(event.id), evicted ? EventSeverity::warning : EventSeverity::info,
            named(event.id) + ": " + releasing_text(event)};
  }
  EventHeading operator()(const JobFreed& event) const {
    return {"job.freed", "job", to_string(event.id), EventSeverity::info,
            named(event.id) + " has left " + counted(event.nodes.size(), "node")};
  }
  EventHeading operator()(const JobOverdue& event) const {
    return {"job.overdue", "job", to_string(event.id), EventSeverity::error,
            named(event.id) + " has not freed its GPUs in time"};
  }
  EventHeading operator()(const OfferExpired& event) const {
    return {"job.offerExpired", "job", to_string(event.id), EventSeverity::warning,
            named(event.id) + " is queued again, " + event.reason};
  }
  EventHeading operator()(const MoveOffered& event) const {
    return {"job.moveOffered", "job", to_string(event.id), EventSeverity::info,
            named(event.id) + " is offered " + counted(event.move.gpu_of_rank.size(), "GPU") +
                " elsewhere: " + event.move.reason};
  }
  EventHeading operator()(const MoveAccepted& event) const {
    return {"job.moveAccepted", "job", to_string(event.id), EventSeverity::info,
            named(event.id) + ": " + move_accepted_text(event)};
  }
  EventHeading operator()(const MoveEnded& event) const {
    return {"job.moveEnded", "job", to_string(event.id), EventSeverity::info,
            named(event.id) + " does not move: " + event.reason};
  }
  EventHeading operator()(const JobMoved& event) const {
    return {"job.moved", "job", to_string(event.id), EventSeverity::warning, named(event.id) + ": " + event.reason};
  }
  EventHeading operator()(const JobDamaged& event) const {
    const bool whole = event.damage.empty();
    return {whole ? EventKind("job.whole") : EventKind("job.damaged"), "job", to_string(event.id),
            whole ? EventSeverity::info : EventSeverity::error,
            named(event.id) + (whole ? Message(" has all its GPUs back") : ": " + event.damage)};
  }
  EventHeading operator()(const JobCheckpointed& event) const {
    return {"job.checkpointed", "job", to_string(event.id), EventSeverity::info,
            named(event.id) + " saved its state at " + whole_second_text(event.saved_us)};
  }
  EventHeading operator()(const JobChanged& event) const {
    return {"job.changed", "job", to_string(event.id), EventSeverity::info, named(event.id) + ": " + event.text};
  }
  EventHeading operator()(const JobReordered& event) const {
    return {"job.reordered", "job", to_string(event.id), EventSeverity::info, named(event.id) + " " + text(event)};
  }
  EventHeading operator()(const JobHeld& event) const {
    return {event.held ? EventKind("job.held") : EventKind("job.released"), "job", to_string(event.id),
            EventSeverity::info, named(event.id) + " is " + text(event)};
  }
  EventHeading operator()(const JobStepsReported& event) const {
    using Pace = JobStepsReported::Pace;
    return {event.pace == Pace::slow     ? EventKind("job.slow")
            : event.pace == Pace::onPace ? EventKind("job.onPace")
                                         : EventKind("job.stepsReported"),
            "job", to_string(event.id), event.pace == Pace::slow ? EventSeverity::warning : EventSeverity::info,
            named(event.id) + " " + text(event)};
  }
  EventHeading operator()(const WebhookPut& event) const {
    return {"webhook.put", "webhook", event.webhook.name, EventSeverity::info,
            "webhook '" + event.webhook.name + "' set"};
  }
  EventHeading operator()(const WebhookRemoved& event) const {
    return {"webhook.removed", "webhook", event.name, EventSeverity::info, "webhook '" + event.name + "' removed"};
  }
  EventHeading operator()(const WebhookAdvanced& event) const {
    const std::string name = "webhook '" + event.name + "'";
    const std::string up_to = fmt::format(" up to event {}", event.cursor);
    if (event.disabled) {
      return {"webhook.disabled", "webhook", event.name, EventSeverity::error,
              name + " failed for too long and is sent nothing more: " + event.last_error};
    }
    if (event.failing_since_us != 0) {
      return {"webhook.failing", "webhook", event.name, EventSeverity::warning,
              name + " has received events" + up_to + " and fails since: " + event.last_error};
    }
    return {"webhook.delivered", "webhook", event.name, EventSeverity::info, name + " has received events" + up_to};
  }
  EventHeading operator()(const QueueRulesPut& event) const {
    return {"queue.policyPut", "queue", "policy", EventSeverity::info,
            fmt::format("queue: {} priority classes, backfill {}", event.policy.classes.size(),
                        railweave::to_text(event.policy.backfill))};
  }
  EventHeading operator()(const ReservationPut& event) const {
    const auto& window = event.reservation.window;
    return {"reservation.put", "reservation", window.name, EventSeverity::info,
            fmt::format("{} '{}': {} GPUs from {} to {}", to_string(window.kind), window.name, window.gpus.size(),
                        whole_second_text(window.from_us), whole_second_text(window.to_us))};
  }
  EventHeading operator()(const MaintenanceBegan& event) const {
    return {"reservation.begun", "reservation", event.name, EventSeverity::info,
            "maintenance '" + event.name + "' begins: " + counted(event.drained.size(), "node") + " drained for it"};
  }
  EventHeading operator()(const ReservationRemoved& event) const {
    return {"reservation.removed", "reservation", event.name, EventSeverity::info,
            "reservation '" + event.name + (event.over ? "' is over" : "' removed")};
  }
  EventHeading operator()(const JobPlaced& event) const {
    const auto& job = *event.job;
    return {"job.placed", "job", to_string(job.id), EventSeverity::info,
            named(job) + " placed: " + counted(job.placement.gpu_of_rank.size(), "GPU") + " on " +
                counted(job.nodes.size(), "node") + " within one " +
                std::string(fabric::to_string(job.placement.level))};
  }
  EventHeading operator()(const JobEnded& event) const {
    return {"job.ended", "job", to_string(event.id),
            event.state == JobState::lost ? EventSeverity::error : EventSeverity::info,
            named(event.id) + " " + std::string(to_string(event.state)) +
                (event.reason.empty() ? Message() : ": " + event.reason)};
  }
  EventHeading operator()(const SubnetModeSet& event) const {
    return {"subnet.modeSet", "subnet", event.subnet,
            event.mode == SubnetMode::observe ? EventSeverity::info : EventSeverity::warning,
            fmt::format("subnet {} is in {} mode{}", event.subnet, to_string(event.mode), because(event.reason))};
  }
  EventHeading operator()(const SubnetKeyRotated& event) const {
    return {"subnet.keyRotated", "subnet", event.subnet, EventSeverity::info,
            fmt::format("ports of subnet {} get management keys of generation {}{}", event.subnet, event.generation,
                        because(event.reason))};
  }
  EventHeading operator()(const SubnetSpreadSet& event) const {
    using fabric::PathSpread;
    const std::string paths = event.spread == PathSpread::single ? "each pair has one path"
                              : event.spread == PathSpread::lmc  ? "senders use all LIDs of an end port evenly"
                                                                 : "switches use all shortest paths";
    return {"subnet.spreadSet", "subnet", event.subnet, EventSeverity::info,
            "guarantees in subnet " + event.subnet + " count on this: " + paths + because(event.reason)};
  }
  EventHeading operator()(const DrainRequested& event) const {
    return {"drain.requested", subject_kind(event.target), event.target.id, EventSeverity::info,
            fmt::format("drain of {}{}{}", to_string(event.target), event.forced ? " forced" : " requested",
                        because(event.reason))};
  }
  EventHeading operator()(const DrainAdvanced& event) const {
    const bool done = event.state == DrainState::drained;
    return {done ? EventKind("drain.completed") : EventKind("drain.advanced"), subject_kind(event.target),
            event.target.id, EventSeverity::info,
            fmt::format("{}{}", to_string(event.target),
                        done ? " is drained: safe to unplug" : ": drain is " + std::string(to_string(event.state)))};
  }
  EventHeading operator()(const DrainCleared& event) const {
    return {"drain.cleared", subject_kind(event.target), event.target.id, EventSeverity::info,
            fmt::format("{} is back in use{}", to_string(event.target), because(event.reason))};
  }
  EventHeading operator()(const LinkReleased& event) const {
    return {"link.released", "link", event.link, EventSeverity::info,
            "link " + event.link + " is used again: what it did is forgotten" + because(event.reason)};
  }
  EventHeading operator()(const RoutesRebalanced& event) const {
    if (!event.engine_reason.empty()) {
      return {
          "route.rebalanced", "subnet", event.subnet, EventSeverity::warning,
          fmt::format("routes of subnet {} are computed by the engine that suits its shape again, no longer by {}: {}",
                      event.subnet, event.engine_before, event.engine_reason)};
    }
    if (!event.engine_before.empty()) {
      return {"route.rebalanced", "subnet", event.subnet, EventSeverity::info,
              fmt::format(
                  "routes of subnet {} are computed by {} on at most {} instead of {}: {} instead of {} pairs on the "
                  "fullest link",
                  event.subnet, event.taken.engine, counted(event.taken.lanes, "lane"), event.engine_before,
                  event.fullest, event.fullest_before)};
    }
    if (event.jobs > 0) {
      return {
          "route.rebalanced", "subnet", event.subnet, EventSeverity::info,
          fmt::format(
              "routes of subnet {} follow {}: {} chosen, which ask the fullest link for {}% of its rate instead of {}%",
              event.subnet, counted(event.jobs, "job"), counted(event.hops.size(), "next hop"),
              event.asked_permille / 10, event.asked_permille_before / 10)};
    }
    const std::size_t out = event.links.size() + event.switches.size();
    return {"route.rebalanced", "subnet", event.subnet, EventSeverity::info,
            out == 0 ? "routes of subnet " + event.subnet + " are spread as cabled again"
                     : fmt::format("routes of subnet {} are spread again over the links that are left: {} instead of "
                                   "{} pairs on the fullest",
                                   event.subnet, event.fullest, event.fullest_before)};
  }
  EventHeading operator()(const LinkCostsSet& event) const {
    return {
        "route.costsSet", "routes", "costs", event.by_link.empty() ? EventSeverity::info : EventSeverity::warning,
        (event.by_link.empty() ? "no link has a cost any more"
                               : "routes use " + counted(event.by_link.size(), "link") + " less because of a cost") +
            because(event.reason)};
  }
  EventHeading operator()(const LinksChanged& event) const {
    std::size_t down = 0;
    for (const auto& link : event.links) down += link.state == fabric::LinkState::down ? 1 : 0;
    const std::size_t back = event.links.size() - down;
    const auto slower = static_cast<std::size_t>(
        std::ranges::count_if(event.links, [](const LinkReport& link) { return link.rate.value() > 0; }));
    std::string text;
    if (event.links.size() == 1) {
      const auto& link = event.links.front();
      text = fmt::format("link {} is {}{}{}{}{}", link.link, to_string(link.state),
                         link.links_up == 0 ? "" : fmt::format(", {} of its parallel links up", link.links_up),
                         link.rate.value() == 0 ? "" : ": it runs at " + rate_text(link.rate),
                         link.damped ? ": it flaps and is held down until it is calm" : "", because(event.reason));
    } else {
      text = fmt::format("{} links of {} changed: {} down, {} up or degraded{}", event.links.size(), event.subnet, down,
                         back, slower == 0 ? "" : fmt::format(", {} of them slower than accepted", slower));
    }
    const bool one = event.links.size() == 1;
    return {back == 0 ? EventKind("link.down") : (down == 0 ? EventKind("link.up") : EventKind("link.changed")),
            one ? "link" : "subnet", one ? event.links.front().link : event.subnet,
            down == 0 && slower == 0 ? EventSeverity::info : EventSeverity::warning, text};
  }
  EventHeading operator()(const AlarmRaised& event) const {
    return {"alarm.raised", event.alarm.subject_kind, event.alarm.subject_id,
            event.alarm.severity == AlarmSeverity::critical ? EventSeverity::error : EventSeverity::warning,
            event.alarm.text};
  }
  EventHeading operator()(const AlarmCleared& event) const {
    return {"alarm.cleared", "alarm", event.id, EventSeverity::info, event.id + " is cleared"};
  }
  EventHeading operator()(const AlarmAcknowledged& event) const {
    const std::string note = event.note.empty() ? "" : ": " + event.note;
    if (event.acknowledged) {
      return {"alarm.acknowledged", "alarm", event.id, EventSeverity::info, event.id + " is acknowledged" + note};
    }
    return {"alarm.reopened", "alarm", event.id, EventSeverity::info,
            event.id + " is not acknowledged any more" + note};
  }
  EventHeading operator()(const AlarmMuted& event) const {
    const std::string note = event.note.empty() ? "" : ": " + event.note;
    if (event.until_us != 0) {
      return {"alarm.muted", "alarm", event.id, EventSeverity::info,
              event.id + " is muted until " + whole_second_text(event.until_us) + note};
    }
    return {"alarm.unmuted", "alarm", event.id, EventSeverity::info, event.id + " is not muted any more" + note};
  }
  EventHeading operator()(const QosProgrammed& event) const {
    const std::string what = fmt::format("{} classes and {} partitions: ", event.classes, event.partitions);
    if (event.where == QosProgrammed::Where::opensmFiles) {
      return {"qos.offered", "subnet", event.subnet, EventSeverity::info,
              what + counted(event.blocks, "file") +
                  " offered to OpenSM, which must read them; ports keep the tables they have until it does"};
    }
    return {"qos.programmed", "subnet", event.subnet, EventSeverity::info,
            fmt::format("{}{} blocks written to {} ports", what, event.blocks, event.ports)};
  }
  EventHeading operator()(const PortLimitsRead& event) const {
    return {"qos.limits", "subnet", event.subnet, EventSeverity::info,
            fmt::format("ports have {} data lanes, {} arbitration entries and an MTU of {} bytes",
                        event.limits.data_lanes, event.limits.arbitration_entries, event.limits.mtu_bytes)};
  }
  EventHeading operator()(const SubnetTablesReported& event) const {
    const SubnetTables& tables = event.tables;
    const auto heading = [&](EventSeverity severity, std::string text) {
      return EventHeading{"route.inForce", "subnet", event.subnet, severity, std::move(text)};
    };
    switch (tables.source) {
      case TablesSource::wanted:
        return heading(EventSeverity::info, "the tables in force are those that Railweave computes, as read back");
      case TablesSource::seen:
        return heading(EventSeverity::info, "the tables in force are those that its switches hold: " + tables.reason);
      case TablesSource::unknown:
        break;
    }
    return heading(EventSeverity::warning, "which tables are in force is not known: " + tables.reason);
  }
  EventHeading operator()(const RoutesProgrammed& event) const {
    return {"route.programmed", "subnet", event.subnet,
            event.isolated == 0 ? EventSeverity::info : EventSeverity::warning,
            fmt::format("{}: {} entries in {} blocks written in {} us{}", event.cause, event.entries, event.blocks,
                        event.total_us,
                        event.isolated == 0 ? "" : fmt::format(", {} switches do not answer", event.isolated))};
  }

  EventHeading operator()(const ContractPut& event) const {
    const auto& terms = event.terms;
    return {"contract.put", "contract", terms.tenant, EventSeverity::info,
            "contract of " + terms.tenant +
                (terms.guaranteed.value() == 0
                     ? ": best effort"
                     : ": " + rate_text(terms.guaranteed) +
                           (terms.basis == scheduler::RateBasis::per_port ? " at each port" : " for each job"))};
  }
  EventHeading operator()(const ContractRemoved& event) const {
    return {"contract.removed", "contract", event.tenant, EventSeverity::info,
            "contract of " + event.tenant + " removed"};
  }
  EventHeading operator()(const QosClassesPut& event) const {
    std::string names;
    for (const auto& one : event.classes) names += (names.empty() ? "" : ", ") + one.name;
    return {"qosClasses.put", "qosClasses", "cluster", event.forced ? EventSeverity::warning : EventSeverity::info,
            fmt::format("{} traffic classes: {}{}", event.classes.size(), names,
                        event.forced ? "; forced, although running jobs depend on those before" : "")};
  }
  EventHeading operator()(const GuaranteeChanged& event) const {
    const std::string id = to_string(event.job);
    const Message whose("", {"guarantee of ", JobPart{event.job.number()}, " (", TenantPart{event.tenant}, ")"});
    switch (event.change) {
      case GuaranteeChange::at_risk:
        return {"guarantee.atRisk", "job", id, EventSeverity::error,
                whose + " does not hold: " + event.guarantee->reason};
      case GuaranteeChange::restored:
        return {"guarantee.restored", "job", id, EventSeverity::info,
                whose + " holds again after " + std::to_string(event.for_us / 1000) + " ms" +
                    (event.guarantee->lane ? fmt::format(", on lane {} of its own", *event.guarantee->lane) : "")};
      case GuaranteeChange::covered:
        return {"guarantee.coverage", "job", id,
                event.guarantee->covered ? EventSeverity::info : EventSeverity::warning,
                whose + (event.guarantee->covered ? " holds after any single link failure again"
                                                  : " holds, but what a link failure would need is used up")};
      case GuaranteeChange::lane_changed:
        return {
            "guarantee.laneChanged", "job", id, EventSeverity::warning,
            whose + " has another lane of its own, " + std::to_string(event.guarantee->lane.value_or(0)) +
                ", because routes changed: its ranks have to be started again with the service level that railweave "
                "jobs ranks " +
                id + " says"};
      case GuaranteeChange::amended:
        break;
    }
    return {"guarantee.amended", "job", id, EventSeverity::info,
            whose + (event.guarantee ? " is now " + rate_text(event.guarantee->rate) + " at each port in class " +
                                           event.guarantee->qos_class
                                     : " is withdrawn")};
  }

  static std::string because(const std::string& reason) { return reason.empty() ? "" : ": " + reason; }
};

}  // namespace

Message releasing_text(const JobReleasing& event) {
  const auto said = [&](std::string_view code, std::string words) {
    Message message(code, {std::move(words)});
    if (!event.reason.empty()) message += ": " + event.reason;
    return message;
  };
  switch (event.becomes) {
    case JobState::queued:
      if (event.moves) return said("launch.moves", "moves to the GPUs that are held for it");
      return said("launch.makesWay", "makes way");
    case JobState::completed:
      return said("launch.completed", "has completed, its GPUs are not free yet");
    default:
      return said("launch.cancelled", "is cancelled, its GPUs are not free yet");
  }
}

Message move_accepted_text(const MoveAccepted& event) {
  if (event.answered) return {"move.accepted", {"its launcher accepts the move"}};
  return {"move.unanswered", {"its launcher has not answered, which counts as accepted"}};
}

EventHeading heading(const EventBody& body) {
  EventHeading head = std::visit(MakeHeading{}, body);
  head.summary = head.summary.with_code(head.type);
  return head;
}

}  // namespace railweave::control
