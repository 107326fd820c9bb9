// Guarantees and their enforcement as JSON values that several answers share. Private to this folder.
#pragma once

#include <span>

#include "scheduler/admission/source_cap.h"
#include "services/control/agents/class_grade.h"
#include "services/control/live/status/subnet_status.h"
#include "services/control/state/job_guarantee.h"
#include "services/control/views/guarantee_book.h"
#include "services/control/views/tables_used.h"
#include "services/json/json_out.h"

namespace railweave::api {

// in_force: what it needs of switches was read from them; else it is planned, unless it is at risk. spec: of its job.
Out guarantee_out(const control::JobGuarantee& guarantee, const scheduler::JobSpec& spec, bool in_force,
                  const MessageReader& reader);
// planned: nothing of it was seen in force.
Out enforcement_json(const scheduler::SourceCap& cap, bool planned = false);

bool is_ethernet(const control::ClusterState& state, fabric::PortId port);

// The member `inForce`. The book must be at the state; the rest as write_guarantee() has it.
Out in_force_json(const control::ClusterState& state, const control::GuaranteeBook& book, const control::Job& job,
                  std::span<const fabric::PortId> ports, std::span<const control::SubnetStatusPtr> live,
                  std::span<const control::TablesUsed> tables, const control::ClassGrade& in_class);

}  // namespace railweave::api
