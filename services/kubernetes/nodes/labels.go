package nodes

import (
	"sort"
	"strings"
)

// Relabelled is what changes of one node.
type Relabelled struct {
	Set     map[string]string
	Remove  []string
	Written string // the names of labels that are ours afterwards
}

// Changes says whether there is anything to write.
func (r Relabelled) Changes(written string) bool {
	return len(r.Set)+len(r.Remove) > 0 || r.Written != written
}

// Relabel brings a node's labels to what they shall be. Labels that another program wrote stay, whatever they say.
func Relabel(present map[string]string, written string, wanted map[string]string) Relabelled {
	ours := map[string]bool{}
	for _, name := range strings.Fields(written) {
		ours[name] = true
	}
	changed := Relabelled{Set: map[string]string{}}
	var kept []string
	for name, value := range wanted {
		held, found := present[name]
		if found && !ours[name] {
			continue
		}
		kept = append(kept, name)
		if !found || held != value {
			changed.Set[name] = value
		}
	}
	for name := range ours {
		if _, still := wanted[name]; !still {
			if _, found := present[name]; found {
				changed.Remove = append(changed.Remove, name)
			}
		}
	}
	sort.Strings(kept)
	sort.Strings(changed.Remove)
	changed.Written = strings.Join(kept, " ")
	return changed
}

// read are labels of nodes that Railweave is told: what others found out about topology, in Topograph's new and old names.
var read = []string{"nvidia.com/gpu.clique", "nvidia.com/gpu.product", "nvidia.com/gpu.memory", "topology.kubernetes.io/zone",
	"network.topology.nvidia.com/accelerator", "network.topology.nvidia.com/leaf", "network.topology.nvidia.com/spine",
	"network.topology.nvidia.com/core", DomainLabel, SubdomainLabel}

// GpuLabel is the one by which Railweave tells models of GPUs apart.
const GpuLabel = "gpu"

// Facts is what of a node's labels Railweave does not have yet; nil removes a label. `written` is what the controller wrote itself.
func Facts(present map[string]string, written string, known map[string]string) map[string]*string {
	ours := map[string]bool{}
	for _, name := range strings.Fields(written) {
		ours[name] = true
	}
	told := append([]string(nil), read...)
	for name := range present {
		if strings.HasPrefix(name, TierLabel) {
			told = append(told, name)
		}
	}
	for name := range known {
		if strings.HasPrefix(name, TierLabel) && present[name] == "" {
			told = append(told, name)
		}
	}
	facts := map[string]*string{}
	for _, name := range told {
		value, found := present[name]
		if found && ours[name] {
			found = false // it came from Railweave
		}
		held, had := known[name]
		if found && held != value {
			facts[name] = &value
		} else if !found && had {
			facts[name] = nil
		}
	}
	if product := present["nvidia.com/gpu.product"]; product != "" && known[GpuLabel] == "" {
		facts[GpuLabel] = &product
	}
	return facts
}
