#include "services/control/events/command_subject.h"

#include <variant>

namespace railweave::control {
namespace {

struct SubjectText {
  std::string operator()(const PutTenant& command) const { return "tenant/" + command.tenant.name; }
  std::string operator()(const RemoveTenant& command) const { return "tenant/" + command.name; }
  std::string operator()(const PutContract& command) const { return "contract/" + command.terms.tenant; }
  std::string operator()(const RemoveContract& command) const { return "contract/" + command.tenant; }
  std::string operator()(const PutReservation& command) const { return "reservation/" + command.name; }
  std::string operator()(const RemoveReservation& command) const { return "reservation/" + command.name; }
  std::string operator()(const SetSubnetMode& command) const { return "mode/" + command.subnet; }
  std::string operator()(const RotateSubnetKey& command) const { return "key/" + command.subnet; }
  std::string operator()(const SetSubnetSpread& command) const { return "spread/" + command.subnet; }
  std::string operator()(const PutQosClasses&) const { return "classes"; }
  std::string operator()(const PutQueueRules&) const { return "rules"; }
  std::string operator()(const AcceptTopology&) const { return "topology"; }
  std::string operator()(const EndJob& command) const { return job(command.id); }
  std::string operator()(const AdvanceLaunch& command) const { return job(command.id); }
  std::string operator()(const FreeJob& command) const { return job(command.id); }
  std::string operator()(const AnswerMove& command) const { return job(command.id); }
  std::string operator()(const OfferMoves&) const { return "moves"; }
  std::string operator()(const RepairJob& command) const { return job(command.id); }
  std::string operator()(const ChangeJob& command) const { return job(command.id); }
  std::string operator()(const PutWebhook& command) const { return "webhook/" + command.webhook.name; }
  std::string operator()(const RemoveWebhook& command) const { return "webhook/" + command.name; }
  std::string operator()(const CheckpointJob& command) const { return job(command.id); }
  std::string operator()(const ReportSteps& command) const { return "steps/" + to_string(command.id); }
  template <class Other>
  std::string operator()(const Other&) const {
    return {};
  }

 private:
  static std::string job(JobId id) { return "job/" + to_string(id); }
};

}  // namespace

std::string subject_of(const Command& command) { return std::visit(SubjectText{}, command.body); }

}  // namespace railweave::control
