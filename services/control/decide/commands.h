// The decision about each command, one function per type of Command::body. Called by decide() alone; grouped here by
// the file that defines them.
#pragma once

#include <cstdint>

#include "services/control/decide/decide.h"

namespace railweave::control {

struct DecisionInput {
  const ClusterState& state;
  std::int64_t now_us;
  PlacerCache& placers;
  QueueRunner& queue;
};

// job_commands.cc
DecisionResult decide_command(const DecisionInput& in, const SubmitJob& command);
DecisionResult decide_command(const DecisionInput& in, const RepairJob& command);
DecisionResult decide_command(const DecisionInput& in, const CheckpointJob& command);
DecisionResult decide_command(const DecisionInput& in, const EndJob& command);
// Never as a whole: the control loop decides its items one after the other (control_loop.cc).
DecisionResult decide_command(const DecisionInput& in, const SubmitJobs& command);

// step_commands.cc
DecisionResult decide_command(const DecisionInput& in, const ReportSteps& command);

// job_changes.cc
DecisionResult decide_command(const DecisionInput& in, const ChangeJob& command);

// webhook_commands.cc
DecisionResult decide_command(const DecisionInput& in, const PutWebhook& command);
DecisionResult decide_command(const DecisionInput& in, const RemoveWebhook& command);
DecisionResult decide_command(const DecisionInput& in, const ReportWebhook& command);
std::vector<EventBody> remove_webhooks(const ClusterState& state, const std::string& tenant);  // with their alarms

// launch_commands.cc
DecisionResult decide_command(const DecisionInput& in, const AdvanceLaunch& command);
DecisionResult decide_command(const DecisionInput& in, const FreeJob& command);

// move_commands.cc
DecisionResult decide_command(const DecisionInput& in, const AnswerMove& command);
DecisionResult decide_command(const DecisionInput& in, const OfferMoves& command);

// queue_commands.cc
DecisionResult decide_command(const DecisionInput& in, const PutQueueRules& command);
DecisionResult decide_command(const DecisionInput& in, const PutReservation& command);
DecisionResult decide_command(const DecisionInput& in, const RemoveReservation& command);

// tenant_commands.cc
DecisionResult decide_command(const DecisionInput& in, const PutTenant& command);
DecisionResult decide_command(const DecisionInput& in, const RemoveTenant& command);

// token_commands.cc
DecisionResult decide_command(const DecisionInput& in, const IssueToken& command);
DecisionResult decide_command(const DecisionInput& in, const RevokeToken& command);

// leader_commands.cc
DecisionResult decide_command(const DecisionInput& in, const BeginTerm& command);

// contracts.cc
DecisionResult decide_command(const DecisionInput& in, const PutContract& command);
DecisionResult decide_command(const DecisionInput& in, const RemoveContract& command);
DecisionResult decide_command(const DecisionInput& in, const PutQosClasses& command);

// topology_import.cc
DecisionResult decide_command(const DecisionInput& in, const AcceptTopology& command);

// fabric_commands.cc
DecisionResult decide_command(const DecisionInput& in, const SetSubnetMode& command);
DecisionResult decide_command(const DecisionInput& in, const RotateSubnetKey& command);
DecisionResult decide_command(const DecisionInput& in, const SetSubnetSpread& command);
DecisionResult decide_command(const DecisionInput& in, const RequestDrain& command);
DecisionResult decide_command(const DecisionInput& in, const ClearDrain& command);
DecisionResult decide_command(const DecisionInput& in, const SetLinkCosts& command);

// report_commands.cc
DecisionResult decide_command(const DecisionInput& in, const ReleaseLink& command);
DecisionResult decide_command(const DecisionInput& in, const ReportLinks& command);
DecisionResult decide_command(const DecisionInput& in, const ReportDrains& command);
DecisionResult decide_command(const DecisionInput& in, const ReportAlarms& command);
DecisionResult decide_command(const DecisionInput& in, const AcknowledgeAlarm& command);
DecisionResult decide_command(const DecisionInput& in, const MuteAlarm& command);
DecisionResult decide_command(const DecisionInput& in, const ReportProgramming& command);
DecisionResult decide_command(const DecisionInput& in, const ReportPortLimits& command);
DecisionResult decide_command(const DecisionInput& in, const ReportTables& command);
DecisionResult decide_command(const DecisionInput& in, const ReportBalance& command);
DecisionResult decide_command(const DecisionInput& in, const TakeJobRoutes& command);
DecisionResult decide_command(const DecisionInput& in, const ReportQos& command);

}  // namespace railweave::control
