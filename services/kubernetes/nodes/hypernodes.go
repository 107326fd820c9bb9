package nodes

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"reflect"
	"sort"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"railweave.dev/kubernetes/contract"
	"railweave.dev/kubernetes/names"
)

// HyperNode is a group of nodes as Volcano has it: of nodes, or of groups of the tier below.
type HyperNode struct {
	Name    string
	Tier    int
	Nodes   bool
	Members []string
}

// HyperNodes is the groups of the fabric's tiers, from leaves (tier 1) up, of the nodes that the cluster has. A tier that joins the same
// nodes as the one below is left out.
func HyperNodes(fabric *contract.Fabric, present map[string]bool) []HyperNode {
	g := graphOf(fabric)
	var all []HyperNode
	above := map[string]string{} // of each node, its group of the newest tier
	tier := 0
	for level := 0; level < g.tiers; level++ {
		nodesOf := map[string][]string{}
		for i, group := range g.groups(level) {
			host := fabric.Hosts[i]
			if group != "" && len(host.Gpus) > 0 && present[host.Name] {
				nodesOf[group] = append(nodesOf[group], host.Name)
			}
		}
		if len(nodesOf) == 0 || tier > 0 && len(nodesOf) == groupsIn(above) {
			continue
		}
		tier++
		all = append(all, tierOf(nodesOf, tier, above)...)
	}
	return all
}

func groupsIn(above map[string]string) int {
	seen := map[string]bool{}
	for _, group := range above {
		seen[group] = true
	}
	return len(seen)
}

func tierOf(nodesOf map[string][]string, tier int, above map[string]string) []HyperNode {
	var groups []HyperNode
	for group, nodes := range nodesOf {
		one := HyperNode{Name: objectName(group, tier), Tier: tier, Nodes: tier == 1}
		seen := map[string]bool{}
		for _, node := range nodes {
			member := node
			if tier > 1 {
				member = above[node]
			}
			if member != "" && !seen[member] {
				seen[member] = true
				one.Members = append(one.Members, member)
			}
		}
		sort.Strings(one.Members)
		groups = append(groups, one)
	}
	for i, one := range groups {
		for group, nodes := range nodesOf {
			if objectName(group, tier) == groups[i].Name {
				for _, node := range nodes {
					above[node] = one.Name
				}
			}
		}
	}
	sort.Slice(groups, func(a, b int) bool { return groups[a].Name < groups[b].Name })
	return groups
}

// objectName is one that Kubernetes takes for objects; different groups have different ones.
func objectName(group string, tier int) string {
	sum := sha256.Sum256([]byte(group))
	text := strings.ToLower(strings.Trim(notInLabels.ReplaceAllString(strings.ReplaceAll(group, "_", "-"), "-"), ".-"))
	return fmt.Sprintf("railweave-%d-%s-%s", tier, strings.Trim(text[:min(len(text), 40)], ".-"), hex.EncodeToString(sum[:3]))
}

var hyperNodeKind = schema.GroupKind{Group: "topology.volcano.sh", Kind: "HyperNode"}

func (h HyperNode) object(kind schema.GroupVersionKind) *unstructured.Unstructured {
	of := "HyperNode"
	if h.Nodes {
		of = "Node"
	}
	members := []any{}
	for _, member := range h.Members {
		members = append(members, map[string]any{"type": of, "selector": map[string]any{"exactMatch": map[string]any{"name": member}}})
	}
	object := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"tier": int64(h.Tier), "members": members}}}
	object.SetGroupVersionKind(kind)
	object.SetName(h.Name)
	object.SetLabels(map[string]string{names.WrittenLabel: "true"})
	return object
}

// writeHyperNodes brings those that are ours to what the fabric says; Volcano's users' own are not touched.
func (s *Syncer) writeHyperNodes(ctx context.Context, present map[string]bool) error {
	mapping, err := s.Mapper.RESTMapping(hyperNodeKind)
	if meta.IsNoMatchError(err) {
		return nil // Volcano is not installed
	} else if err != nil {
		return err
	}
	var list unstructured.UnstructuredList
	list.SetGroupVersionKind(mapping.GroupVersionKind)
	if err := s.Live.List(ctx, &list, client.MatchingLabels{names.WrittenLabel: "true"}); err != nil {
		return err
	}
	held := map[string]*unstructured.Unstructured{}
	for i := range list.Items {
		held[list.Items[i].GetName()] = &list.Items[i]
	}
	for _, one := range HyperNodes(s.accepted, present) {
		wanted := one.object(mapping.GroupVersionKind)
		had := held[one.Name]
		delete(held, one.Name)
		if had == nil {
			err = s.Client.Create(ctx, wanted)
		} else if !reflect.DeepEqual(had.Object["spec"], wanted.Object["spec"]) {
			wanted.SetResourceVersion(had.GetResourceVersion())
			err = s.Client.Update(ctx, wanted)
		}
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	for _, gone := range held {
		if err := client.IgnoreNotFound(s.Client.Delete(ctx, gone)); err != nil {
			return err
		}
	}
	return nil
}
