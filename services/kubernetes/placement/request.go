package placement

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"sort"
	"strconv"
	"strings"

	"railweave.dev/kubernetes/contract"
	"railweave.dev/kubernetes/group"
)

// MaxNodes is how many nodes a request may name.
const MaxNodes = 4096

// Site is what of the cluster a request depends on.
type Site struct {
	Usable      []string // nodes where pods of this kind may run, sorted
	Unusable    []string // nodes of Railweave where they may not, sorted
	GpusPerNode int      // of a node that the job may have; each usable one has the room
	Uneven      bool     // all pods fit now, only some nodes with more of them than others
	InUse       bool     // a node is unusable only as long as other pods use its GPUs
	Preferences []contract.NodePreference
	Tolerations []contract.Toleration
	Repelling   map[string]bool // nodes with a taint of Railweave's that none of them is for
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
		External:         &contract.External{Scheduler: "kubernetes", ID: key.Namespace + "/" + key.Name, Part: key.Namespace},
		Launcher:         launcher(demand),
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
	case len(site.Unusable) <= MaxNodes:
		body.ExcludeNodes = site.Unusable
	case len(site.Usable) <= MaxNodes:
		body.Nodes = site.Usable
	}
	body.PreferNodes, body.Tolerations = site.Preferences, site.Tolerations
	return body, nil
}

// launcher is the terms of the group's job. Pods that save their state when they are ended have the time that they ask for, and some more in which
// the node agent and their owner are done with them.
func launcher(demand group.Demand) *contract.Launcher {
	const (
		plenty = 5 * 60 // of Railweave's ten minutes
		more   = 5 * 60
		most   = 7 * 24 * 3600
	)
	terms := &contract.Launcher{Acknowledges: true, Checkpointable: demand.Checkpointable}
	if demand.Checkpointable && demand.GraceS > plenty {
		terms.ReleaseWithin = fmt.Sprintf("PT%dS", min(demand.GraceS, most-more)+more)
	}
	return terms
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
		External:    &contract.External{Scheduler: "kubernetes", ID: AdoptedMark, Part: key.Namespace},
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

// Told is where a pod was told to run, as it says itself.
type Told struct {
	Node        string
	Ranks, Gpus []int
}

// Places is the GPUs of a group in the order of its ranks; the error says that the pods do not tell all of it.
func Places(told []Told) ([]contract.RankPlace, error) {
	type gpu struct {
		node  string
		index int
	}
	ranks := map[int]gpu{}
	count := 0
	for _, one := range told {
		if one.Node == "" || len(one.Ranks) == 0 || len(one.Ranks) != len(one.Gpus) {
			return nil, errors.New("not all of its pods say which GPUs they have")
		}
		for i, rank := range one.Ranks {
			ranks[rank] = gpu{one.Node, one.Gpus[i]}
		}
		count += len(one.Ranks)
	}
	var places []contract.RankPlace
	for rank := 0; rank < count; rank++ {
		at, found := ranks[rank]
		if !found {
			return nil, fmt.Errorf("none of its pods has rank %d", rank)
		}
		if last := len(places) - 1; last >= 0 && places[last].Node == at.node {
			places[last].Gpus = append(places[last].Gpus, at.index)
		} else {
			places = append(places, contract.RankPlace{Node: at.node, Gpus: []int{at.index}})
		}
	}
	return places, nil
}

// Readoption is the job of a group that Railweave has placed and does not know any more: exactly where it runs.
func Readoption(cluster string, key group.Key, demand group.Demand, pods int, places []contract.RankPlace) (*contract.JobRequest, error) {
	body, err := Request(cluster, key, demand, pods, Site{})
	if err != nil {
		return nil, err
	}
	body.Queue, body.GpusPerNode, body.Topology = false, 0, nil
	body.Adopt = &contract.AdoptedPlace{Ranks: places}
	return body, nil
}

// IdempotencyKey is the same for the same pods: a request that is repeated after a restart makes no second job.
func IdempotencyKey(name string, uids []string, attempt int) string {
	sorted := append([]string(nil), uids...)
	sort.Strings(sorted)
	sum := sha256.Sum256([]byte(name + "\n" + strings.Join(sorted, "\n")))
	return "kubernetes:" + hex.EncodeToString(sum[:20]) + ":" + strconv.Itoa(attempt)
}
