// Package nodes keeps the cluster's nodes and Railweave's in step: labels that say how near nodes are, and drains with cordons.
package nodes

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"sort"
	"strconv"
	"strings"

	"railweave.dev/kubernetes/contract"
	"railweave.dev/kubernetes/names"
	"railweave.dev/kubernetes/placement"
)

// Labels that Topograph 1.0 writes; schedulers read them.
const (
	TierLabel      = "fabric.topograph.run/tier-"
	DomainLabel    = "accelerator.topograph.run/domain"
	SubdomainLabel = "accelerator.topograph.run/sub-domain"
)

// forest joins what is below one group.
type forest []int

func (f forest) root(of int) int {
	for f[of] != of {
		f[of] = f[f[of]]
		of = f[of]
	}
	return of
}

func (f forest) join(a, b int) { f[f.root(a)] = f.root(b) }

// graph is hosts and the switches of compute subnets: switches come first, then hosts.
type graph struct {
	fabric *contract.Fabric
	links  [][2]int
	tier   []int // of each switch: 0 is nearest to hosts; -1 where no host is
	tiers  int
}

func graphOf(fabric *contract.Fabric) *graph {
	g := &graph{fabric: fabric}
	other := map[string]bool{}
	for _, subnet := range fabric.Subnets {
		other[subnet.Name] = subnet.Kind == "storage" || subnet.Kind == "management"
	}
	// Devices of links are the switches, then all adapters of hosts in their order, then adapters of none.
	vertex := []int{}
	for i, one := range fabric.Switches {
		if other[one.Subnet] {
			vertex = append(vertex, -1)
		} else {
			vertex = append(vertex, i)
		}
	}
	for i, host := range fabric.Hosts {
		for range host.Adapters {
			if len(host.Gpus) > 0 {
				vertex = append(vertex, len(fabric.Switches)+i)
			} else {
				vertex = append(vertex, -1)
			}
		}
	}
	neighbours := map[int][]int{}
	for _, link := range fabric.Links {
		if len(link) < 4 || max(link[0], link[2]) >= len(vertex) {
			continue
		}
		a, b := vertex[link[0]], vertex[link[2]]
		if a < 0 || b < 0 {
			continue
		}
		g.links = append(g.links, [2]int{a, b})
		neighbours[a] = append(neighbours[a], b)
		neighbours[b] = append(neighbours[b], a)
	}
	g.setTiers(neighbours)
	return g
}

func (g *graph) setTiers(neighbours map[int][]int) {
	g.tier = make([]int, len(g.fabric.Switches))
	for i := range g.tier {
		g.tier[i] = -1
	}
	var front []int
	for i := range g.fabric.Hosts {
		front = append(front, len(g.fabric.Switches)+i)
	}
	for ; len(front) > 0; g.tiers++ {
		var next []int
		for _, from := range front {
			for _, to := range neighbours[from] {
				if to < len(g.tier) && g.tier[to] < 0 {
					g.tier[to] = g.tiers
					next = append(next, to)
				}
			}
		}
		if front = next; len(next) == 0 {
			break
		}
	}
}

// groups names the group of each host at a tier, "" where it has none: hosts that switches up to that tier join.
func (g *graph) groups(tier int) []string {
	switches := len(g.fabric.Switches)
	joined := make(forest, switches+len(g.fabric.Hosts))
	for i := range joined {
		joined[i] = i
	}
	below := func(vertex int) bool { return vertex >= switches || g.tier[vertex] >= 0 && g.tier[vertex] <= tier }
	for _, link := range g.links {
		if below(link[0]) && below(link[1]) {
			joined.join(link[0], link[1])
		}
	}
	name, height := map[int]string{}, map[int]int{}
	for i, one := range g.fabric.Switches {
		if !below(i) {
			continue
		}
		root := joined.root(i)
		// Its highest switch of the first name stands for it.
		if held, found := name[root]; !found || g.tier[i] > height[root] || g.tier[i] == height[root] && switchName(one) < held {
			name[root], height[root] = switchName(one), g.tier[i]
		}
	}
	of := make([]string, len(g.fabric.Hosts))
	for i := range of {
		of[i] = name[joined.root(switches+i)]
	}
	return of
}

func switchName(one contract.FabricSwitch) string {
	if one.Name != "" {
		return one.Name
	}
	return one.Guid
}

// Topology is the labels of each node with GPUs.
func Topology(fabric *contract.Fabric) map[string]map[string]string {
	g := graphOf(fabric)
	labels := map[string]map[string]string{}
	spans := domainNodes(fabric)
	rail := map[string]int{}
	for i, name := range fabric.Rails {
		rail[name] = i
	}
	for _, host := range fabric.Hosts {
		if len(host.Gpus) == 0 {
			continue
		}
		own := map[string]string{}
		if domain := host.Gpus[0].Domain; spans[domain] > 1 {
			own[DomainLabel] = labelValue(domain)
			if clique := host.Gpus[0].Clique; clique != nil {
				own[SubdomainLabel] = strconv.Itoa(*clique)
			}
		}
		if numbers := railsOf(host, rail); len(numbers) > 0 {
			own[names.RailsLabel] = labelValue(strings.ReplaceAll(placement.Runs(numbers), ",", "_"))
		}
		labels[host.Name] = own
	}
	for tier := 0; tier < g.tiers; tier++ {
		for i, group := range g.groups(tier) {
			if own := labels[fabric.Hosts[i].Name]; own != nil && group != "" {
				own[TierLabel+strconv.Itoa(tier)] = labelValue(group)
			}
		}
	}
	return labels
}

func domainNodes(fabric *contract.Fabric) map[string]int {
	spans := map[string]int{}
	for _, host := range fabric.Hosts {
		seen := map[string]bool{"": true}
		for _, gpu := range host.Gpus {
			if !seen[gpu.Domain] {
				seen[gpu.Domain] = true
				spans[gpu.Domain]++
			}
		}
	}
	return spans
}

func railsOf(host contract.FabricHost, rail map[string]int) []int {
	seen := map[int]bool{}
	var numbers []int
	for _, adapter := range host.Adapters {
		for _, port := range adapter.Ports {
			if number, found := rail[port.Rail]; found && !seen[number] {
				seen[number] = true
				numbers = append(numbers, number)
			}
		}
	}
	sort.Ints(numbers)
	return numbers
}

var notInLabels = regexp.MustCompile(`[^A-Za-z0-9._-]+`)

// labelValue is a value that Kubernetes takes; different texts stay different.
func labelValue(text string) string {
	const most = 63
	value := strings.Trim(notInLabels.ReplaceAllString(text, "-"), "._-")
	if value == text && len(value) <= most {
		return value
	}
	sum := sha256.Sum256([]byte(text))
	tail := hex.EncodeToString(sum[:4])
	value = strings.Trim(value[:min(len(value), most-9)], "._-")
	return strings.Trim(value+"-"+tail, "-")
}
