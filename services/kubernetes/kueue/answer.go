package kueue

import (
	"context"
	"fmt"
	"sort"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"railweave.dev/kubernetes/contract"
	"railweave.dev/kubernetes/group"
	"railweave.dev/kubernetes/nodes"
	"railweave.dev/kubernetes/placement"
)

// answer is what a check says of a workload.
type answer struct {
	state   string // Pending, Ready or Rejected
	message string
	updates []any // of pod sets
}

func rejected(why string) (answer, error) { return answer{state: "Rejected", message: why}, nil }

// answer asks Railweave what would become of the workload's pods. Nothing is reserved: what takes their place meanwhile has them wait
// behind their gates.
func (c *Checks) answer(ctx context.Context, one *unstructured.Unstructured) (answer, error) {
	sets, err := c.podSets(one)
	if err != nil {
		return rejected(err.Error())
	}
	if len(sets) == 0 {
		return answer{state: "Ready", message: "it asks for no GPUs"}, nil
	}
	demand, err := group.DemandOf(sets[0].pod, c.GpuResource, c.Rules())
	if err != nil {
		return rejected(err.Error())
	}
	pods := 0
	for _, set := range sets {
		if gpus := group.Gpus(set.pod, c.GpuResource); gpus != demand.Gpus {
			return rejected(fmt.Sprintf("its pods ask for different numbers of GPUs: %d and %d; those of one group ask for the same", demand.Gpus, gpus))
		}
		pods += set.count
	}
	site, err := c.Site.Of(ctx, sets[0].pod, &demand, pods, nil)
	if err != nil {
		return answer{}, err
	}
	body, err := placement.Request(c.Cluster, group.Key{Namespace: one.GetNamespace(), Kind: "workload", Name: one.GetName()}, demand, pods, site)
	if err != nil {
		return rejected(err.Error())
	}
	found, err := c.Contract.QueryRanks(ctx, body)
	if contract.Away(err) {
		return answer{state: "Pending", message: "Railweave cannot be asked where to run; it is asked again"}, nil
	} else if err != nil {
		return rejected(err.Error())
	}
	switch found.Outcome {
	case "placed":
		return c.narrowed(ctx, sets, found)
	case "notNow":
		return answer{state: "Pending", message: found.Reason + found.Explanation.Help()}, nil
	}
	return rejected(found.Reason + found.Explanation.Help())
}

// narrowed gives the pods a selector for the smallest group of nodes that has all of their places.
func (c *Checks) narrowed(ctx context.Context, sets []podSet, found *contract.PlacementAnswer) (answer, error) {
	labels := map[string]map[string]string{}
	for _, rank := range found.Ranks.Items {
		if labels[rank.Node] != nil {
			continue
		}
		node := &corev1.Node{}
		if err := c.Client.Get(ctx, client.ObjectKey{Name: rank.Node}, node); err != nil {
			return answer{}, err
		}
		labels[rank.Node] = map[string]string{}
		for name, value := range node.Labels {
			labels[rank.Node][name] = value
		}
	}
	name, value := Shared(labels)
	ready := answer{state: "Ready", message: fmt.Sprintf("Railweave can place it on %d nodes", len(labels))}
	if name == "" {
		return ready, nil
	}
	ready.message += fmt.Sprintf(" of %s %s", name, value)
	for _, set := range sets {
		ready.updates = append(ready.updates, map[string]any{"name": set.name, "nodeSelector": map[string]any{name: value}})
	}
	return ready, nil
}

// Shared is the label of the nearest kind of topology that all nodes have in common, "" where there is none.
func Shared(labels map[string]map[string]string) (name, value string) {
	kinds := []string{nodes.DomainLabel}
	for tier := 0; tier < 8; tier++ {
		kinds = append(kinds, nodes.TierLabel+strconv.Itoa(tier))
	}
	var all []string
	for node := range labels {
		all = append(all, node)
	}
	sort.Strings(all)
	for _, kind := range kinds {
		same := len(all) > 0 && labels[all[0]][kind] != ""
		for _, node := range all {
			same = same && labels[node][kind] == labels[all[0]][kind]
		}
		if same {
			return kind, labels[all[0]][kind]
		}
	}
	return "", ""
}
