package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"
	"k8s.io/kube-scheduler/framework"

	"railweave.dev/kubernetes/contract"
	"railweave.dev/kubernetes/group"
	"railweave.dev/kubernetes/names"
	"railweave.dev/kubernetes/placement"
	"railweave.dev/kubernetes/policy"
)

// Name of the plugin, in the scheduler's configuration.
const Name = "Railweave"

// A cycle of the scheduler waits no longer for Railweave than this; the gang is then placed without it.
const patience = 2 * time.Second

// A service that did not answer is not asked again for so long: gangs do not wait for it one after the other.
const rest = 10 * time.Second

// Placements takes part in where PodGroups run (KEP-5732): it generates one placement, of the nodes that Railweave would choose now, or
// scores those that other plugins generate.
type Placements struct {
	service *contract.Client
	tenant  string
	away    atomic.Int64 // when it did not answer, in Unix nanoseconds
}

func (p *Placements) resting() bool { return time.Since(time.Unix(0, p.away.Load())) < rest }

// ask waits for the service no longer than a cycle of the scheduler may.
func (p *Placements) ask(ctx context.Context, body *contract.JobRequest) (*contract.PlacementAnswer, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	answer, err := p.service.QueryRanks(ctx, body)
	if contract.Away(err) {
		p.away.Store(time.Now().UnixNano())
	}
	return answer, err
}

var _ framework.PlacementGeneratePlugin = &Placements{}

// New reads RAILWEAVE_URL, RAILWEAVE_TOKEN_FILE and RAILWEAVE_TENANT.
func New(_ context.Context, _ runtime.Object, _ framework.Handle) (framework.Plugin, error) {
	token := ""
	if file := os.Getenv("RAILWEAVE_TOKEN_FILE"); file != "" {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("RAILWEAVE_TOKEN_FILE: %w", err)
		}
		token = strings.TrimSpace(string(text))
	}
	service, err := contract.New(os.Getenv("RAILWEAVE_URL"), token, os.Getenv("RAILWEAVE_CA_FILE"))
	if err != nil {
		return nil, err
	}
	return &Placements{service: service, tenant: os.Getenv("RAILWEAVE_TENANT")}, nil
}

// Name is the plugin's.
func (p *Placements) Name() string { return Name }

// GeneratePlacements asks what would become of the gang's pods. It fails open: what Railweave cannot say is left to the scheduler.
func (p *Placements) GeneratePlacements(ctx context.Context, _ framework.PodGroupCycleState, gang framework.PodGroupInfo,
	parent *framework.Placement) (*framework.GeneratePlacementsResult, *framework.Status) {
	anywhere := &framework.GeneratePlacementsResult{Placements: []*framework.Placement{parent}}
	pods := gang.GetUnscheduledPods()
	if len(pods) == 0 || group.Gpus(pods[0], names.DefaultGpuResource) == 0 || group.Managed(pods[0]) || p.resting() {
		return anywhere, nil // also those that the controller has placed already
	}
	demand, err := group.DemandOf(pods[0], names.DefaultGpuResource, policy.Unrestricted(p.tenant))
	if err != nil {
		return nil, framework.NewStatus(framework.UnschedulableAndUnresolvable, "railweave: "+err.Error())
	}
	key := group.Key{Namespace: gang.GetNamespace(), Kind: group.PodGroup, Name: gang.GetName()}
	nodes := map[string]framework.NodeInfo{}
	body, err := placement.Request("scheduler", key, demand, len(pods), site(pods[0], demand.Gpus, parent, nodes))
	if err != nil {
		return nil, framework.NewStatus(framework.UnschedulableAndUnresolvable, "railweave: "+err.Error())
	}
	answer, err := p.ask(ctx, body)
	if contract.Away(err) {
		klog.FromContext(ctx).Info("Railweave cannot be asked; the gang is placed without it", "podGroup", key.String(), "error", err.Error())
		return anywhere, nil
	} else if err != nil {
		return nil, framework.NewStatus(framework.Unschedulable, "railweave: "+err.Error())
	}
	if answer.Outcome != "placed" {
		return nil, framework.NewStatus(framework.Unschedulable, "railweave: "+answer.Reason+answer.Explanation.Help())
	}
	chosen := &framework.Placement{Name: "railweave"}
	for _, rank := range answer.Ranks.Items {
		if node := nodes[rank.Node]; node != nil {
			chosen.Nodes = append(chosen.Nodes, node)
			delete(nodes, rank.Node)
		}
	}
	return &framework.GeneratePlacementsResult{Placements: []*framework.Placement{chosen}}, nil
}

// site is the scheduler's nodes that the pod's own selectors allow and that have GPUs enough left.
func site(pod *corev1.Pod, gpus int, parent *framework.Placement, nodes map[string]framework.NodeInfo) placement.Site {
	site := placement.Site{Tolerations: placement.Tolerations(pod, nil)}
	required := nodeaffinity.GetRequiredNodeAffinity(pod)
	for _, info := range parent.Nodes {
		node := info.Node()
		resource := corev1.ResourceName(names.DefaultGpuResource)
		left := int(info.GetAllocatable().GetScalarResources()[resource] - info.GetRequested().GetScalarResources()[resource])
		if matches, err := required.Match(node); err == nil && matches && left >= gpus && !node.Spec.Unschedulable {
			nodes[node.Name] = info
			if site.GpusPerNode == 0 || left < site.GpusPerNode {
				site.GpusPerNode = left
			}
		} else if info.GetAllocatable().GetScalarResources()[resource] > 0 {
			site.Unusable = append(site.Unusable, node.Name)
		}
	}
	return site
}
