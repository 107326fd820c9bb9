// Lists of the fabric's devices, page by page, with their filters, and switches as callers name them.
#pragma once

#include <string>

#include "fabric/topology/topology.h"
#include "services/rest/handlers/route_table.h"

namespace railweave::api {

Result<Response> list_nodes(const Call& call);     // ?rack= ?kind= ?name=
Result<Response> list_switches(const Call& call);  // ?tier= ?subnet=
Result<Response> list_links(const Call& call);     // ?kind= ?switch= ?node=
Result<Response> list_nvlink_domains(const Call& call);
Result<Response> list_rails(const Call& call);
Result<Response> list_racks(const Call& call);

// By name, GUID (0x allowed) or "lid:1380" where that LID is unambiguous.
fabric::SwitchId find_switch(const fabric::Topology& topology, const std::string& text);
Error no_switch(const std::string& text);

}  // namespace railweave::api
