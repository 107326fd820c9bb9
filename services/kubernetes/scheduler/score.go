package main

import (
	"context"
	"math"

	"k8s.io/klog/v2"
	"k8s.io/kube-scheduler/framework"

	"railweave.dev/kubernetes/contract"
	"railweave.dev/kubernetes/group"
	"railweave.dev/kubernetes/names"
	"railweave.dev/kubernetes/placement"
	"railweave.dev/kubernetes/policy"
)

var (
	_ framework.PlacementScorePlugin     = &Placements{}
	_ framework.PlacementScoreExtensions = &Placements{}
)

// Scores before they are made comparable: microseconds of communication a step, or one of these.
const (
	unknown = 0             // the same for all: Railweave has no say
	refused = math.MaxInt64 // Railweave would not place the gang there
)

// ScorePlacement asks what the gang's step would cost on exactly the nodes that the scheduler proposes. It fails open.
func (p *Placements) ScorePlacement(ctx context.Context, _ framework.PodGroupCycleState, gang framework.PodGroupInfo,
	proposed *framework.PodGroupAssignments) (int64, *framework.Status) {
	if len(proposed.ProposedAssignments) == 0 || p.resting() {
		return unknown, nil
	}
	first := proposed.ProposedAssignments[0].GetPod()
	if group.Gpus(first, names.DefaultGpuResource) == 0 || group.Managed(first) {
		return unknown, nil
	}
	body, err := p.proposal(gang, proposed)
	if err != nil {
		return unknown, nil // GeneratePlacements says why, where it is asked; here the other plugins decide
	}
	answer, err := p.ask(ctx, body)
	if contract.Away(err) {
		klog.FromContext(ctx).Info("Railweave cannot be asked; the gang's places are compared without it", "podGroup", gang.GetName(), "error", err.Error())
		return unknown, nil
	}
	if err != nil || answer.Outcome != "placed" {
		return refused, nil
	}
	if answer.Predicted == nil || answer.Predicted.CommunicationMs == nil {
		return unknown, nil
	}
	return 1 + int64(*answer.Predicted.CommunicationMs*1000), nil
}

// proposal is the job that would run on exactly those nodes.
func (p *Placements) proposal(gang framework.PodGroupInfo, proposed *framework.PodGroupAssignments) (*contract.JobRequest, error) {
	first := proposed.ProposedAssignments[0].GetPod()
	demand, err := group.DemandOf(first, names.DefaultGpuResource, policy.Unrestricted(p.tenant))
	if err != nil {
		return nil, err
	}
	used := map[string]int{}
	var nodes []string
	for _, one := range proposed.ProposedAssignments {
		if used[one.GetNodeName()]++; used[one.GetNodeName()] == 1 {
			nodes = append(nodes, one.GetNodeName())
		}
	}
	key := group.Key{Namespace: gang.GetNamespace(), Kind: group.PodGroup, Name: gang.GetName()}
	body, err := placement.Request("scheduler", key, demand, len(proposed.ProposedAssignments), placement.Site{Tolerations: placement.Tolerations(first, nil)})
	if err != nil {
		return nil, err
	}
	body.Nodes, body.GpusPerNode = nodes, demand.Gpus*used[nodes[0]]
	for _, count := range used {
		if count != used[nodes[0]] {
			body.GpusPerNode = 0
		}
	}
	return body, nil
}

// PlacementScoreExtensions makes scores of placements comparable with each other.
func (p *Placements) PlacementScoreExtensions() framework.PlacementScoreExtensions { return p }

// NormalizePlacementScore gives the best 100, one that costs twice as much 50, and one that is refused 0.
func (p *Placements) NormalizePlacementScore(_ context.Context, _ framework.PodGroupCycleState, _ framework.PodGroupInfo,
	scores []framework.PlacementScore) *framework.Status {
	best := int64(refused)
	for _, one := range scores {
		if one.Score != unknown {
			best = min(best, one.Score)
		}
	}
	for i, one := range scores {
		switch {
		case one.Score == refused:
			scores[i].Score = framework.MinScore
		case one.Score == unknown:
			scores[i].Score = framework.MaxScore
		default:
			scores[i].Score = max(1, int64(float64(framework.MaxScore)*float64(best)/float64(one.Score)))
		}
	}
	return nil
}
