package nodes

import (
	"encoding/json"
	"net/http"
	"sort"

	"railweave.dev/kubernetes/contract"
)

// Port is a host's port as UFM lists it, with what discoverers of topology (Volcano's) read: which leaf it is joined to.
type Port struct {
	Description     string `json:"description"`
	Tier            int    `json:"tier"`
	SystemName      string `json:"system_name"`
	NodeDescription string `json:"node_description"`
	PeerNodeName    string `json:"peer_node_name"`
}

// Ports is the ports of hosts with GPUs that are joined to switches of compute subnets.
func Ports(fabric *contract.Fabric) []Port {
	g := graphOf(fabric)
	switches := len(fabric.Switches)
	ports := []Port{}
	for _, link := range g.links {
		a, b := link[0], link[1]
		if a > b {
			a, b = b, a
		}
		if a >= switches || b < switches {
			continue
		}
		host := fabric.Hosts[b-switches].Name
		ports = append(ports, Port{Description: "Computer IB Port", Tier: 1, SystemName: host, NodeDescription: host, PeerNodeName: switchName(fabric.Switches[a])})
	}
	sort.Slice(ports, func(a, b int) bool {
		if ports[a].SystemName != ports[b].SystemName {
			return ports[a].SystemName < ports[b].SystemName
		}
		return ports[a].PeerNodeName < ports[b].PeerNodeName
	})
	return ports
}

// RegisterPorts serves them where UFM does, as of now.
func RegisterPorts(mux *http.ServeMux, service *contract.Client) {
	mux.HandleFunc("GET /ufmRest/resources/ports", func(answer http.ResponseWriter, request *http.Request) {
		fabric, err := service.Fabric(request.Context())
		if err != nil {
			http.Error(answer, err.Error(), http.StatusBadGateway)
			return
		}
		answer.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(answer).Encode(Ports(fabric))
	})
}
