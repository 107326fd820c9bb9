package placement

import (
	"crypto/sha256"
	"encoding/hex"
	"sort"
	"strconv"
	"strings"

	"railweave.dev/kubernetes/contract"
	"railweave.dev/kubernetes/group"
)

const mostNodes = 4096 // of the contract

// Site is what of the cluster a request depends on.
type Site struct {
	Usable      []string // nodes where pods of this kind may run, sorted
	Unusable    []string // nodes of Railweave where they may not, sorted
	GpusPerNode int      // that the smallest usable node has
}

// Request is the job that is asked for a group with this number of pods.
func Request(cluster string, key group.Key, demand group.Demand, pods int, site Site) (*contract.JobRequest, error) {
	parallelism, err := demand.Filled(pods)
	if err != nil {
		return nil, err
	}
	body := &contract.JobRequest{
		Name:             key.JobName(cluster),
		Tenant:           demand.Tenant,
		Priority:         demand.Priority,
		Parallelism:      &parallelism,
		GpusPerNode:      demand.Gpus * perNode(demand, pods, site.GpusPerNode),
		ExpectedDuration: demand.Duration,
		External:         &contract.External{Scheduler: "kubernetes", ID: key.Namespace + "/" + key.Name},
		Launcher:         &contract.Launcher{Acknowledges: true},
		Queue:            true,
	}
	if demand.Guarantee > 0 || demand.QosClass != "" {
		body.Bandwidth = &contract.Bandwidth{GuaranteedGbpsPerPort: demand.Guarantee, QosClass: demand.QosClass}
	}
	if demand.Level != "" {
		body.Topology = &contract.Topology{Job: &contract.LevelRequest{Required: demand.Level}}
	}
	switch {
	case len(site.Unusable) == 0:
	case len(site.Unusable) <= mostNodes:
		body.ExcludeNodes = site.Unusable
	case len(site.Usable) <= mostNodes:
		body.Nodes = site.Usable
	}
	return body, nil
}

// perNode is how many pods share a node: what was asked for, else the most that makes the same number on each.
func perNode(demand group.Demand, pods, room int) int {
	if demand.PodsPerNode > 0 {
		return demand.PodsPerNode
	}
	for count := min(pods, room/demand.Gpus, 64/demand.Gpus); count > 1; count-- {
		if pods%count == 0 {
			return count
		}
	}
	return 1
}

// AdoptedMark is the external id of jobs that say where pods are, instead of where they shall go.
const AdoptedMark = "adopted"

// Adoption is a job that holds the GPUs of pods that run already.
func Adoption(cluster string, key group.Key, demand group.Demand, nodes []string) *contract.JobRequest {
	used := map[string]int{}
	for _, node := range nodes {
		used[node]++
	}
	body := &contract.JobRequest{
		Name:        key.JobName(cluster),
		Tenant:      demand.Tenant,
		Parallelism: &contract.Parallelism{Data: len(nodes) * demand.Gpus},
		External:    &contract.External{Scheduler: "kubernetes", ID: AdoptedMark},
		Launcher:    &contract.Launcher{Acknowledges: true},
	}
	even := true
	for node, count := range used {
		body.Nodes = append(body.Nodes, node)
		even = even && count == used[nodes[0]]
	}
	if even {
		body.GpusPerNode = demand.Gpus * used[nodes[0]]
	}
	sort.Strings(body.Nodes)
	return body
}

// IdempotencyKey is the same for the same pods: a request that is repeated after a restart makes no second job.
func IdempotencyKey(name string, uids []string, attempt int) string {
	sorted := append([]string(nil), uids...)
	sort.Strings(sorted)
	sum := sha256.Sum256([]byte(name + "\n" + strings.Join(sorted, "\n")))
	return "kubernetes:" + hex.EncodeToString(sum[:20]) + ":" + strconv.Itoa(attempt)
}
