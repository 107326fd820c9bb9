package placement

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"railweave.dev/kubernetes/contract"
)

// MaxNamed is of how many nodes an advice gives the names.
const MaxNamed = 16

// Without is the request as it would have been before the pods took these nodes.
func Without(body *contract.JobRequest, nodes []string) *contract.JobRequest {
	asked := *body
	asked.ExcludeNodes = slices.DeleteFunc(slices.Clone(body.ExcludeNodes), func(node string) bool { return slices.Contains(nodes, node) })
	if len(body.Nodes) > 0 {
		asked.Nodes = append(slices.Clone(body.Nodes), nodes...)
		slices.Sort(asked.Nodes)
		asked.Nodes = slices.Compact(asked.Nodes)
	}
	return &asked
}

// Advice says where pods would have been placed, and what that would have gained, in words and in permille of the communication
// predicted for a step (nil: not known), from the answers for there and for where they run.
func Advice(there, here *contract.PlacementAnswer, nodes []string) (string, *int) {
	if there.Outcome != "placed" {
		return "Railweave would let it wait: " + there.Reason, nil
	}
	var chosen []string
	for _, rank := range there.Ranks.Items {
		if !slices.Contains(chosen, rank.Node) {
			chosen = append(chosen, rank.Node)
		}
	}
	own := slices.Clone(nodes)
	slices.Sort(own)
	slices.Sort(chosen)
	if slices.Equal(chosen, slices.Compact(own)) {
		return "Railweave would have chosen the same nodes", new(int)
	}
	where := strings.Join(chosen[:min(len(chosen), MaxNamed)], ", ")
	if len(chosen) > MaxNamed {
		where += fmt.Sprintf(" and %d more", len(chosen)-MaxNamed)
	}
	if there.Predicted == nil || here.Predicted == nil || there.Predicted.CommunicationMs == nil || here.Predicted.CommunicationMs == nil {
		return "Railweave would have chosen " + where, nil
	}
	const same = 0.99
	if *there.Predicted.CommunicationMs >= same**here.Predicted.CommunicationMs {
		return "Railweave would have chosen " + where + ", which is no faster", new(int)
	}
	gain := int(math.Round(1000 * (1 - *there.Predicted.CommunicationMs / *here.Predicted.CommunicationMs)))
	return fmt.Sprintf("Railweave would have chosen %s: %.3g ms of communication predicted for a step instead of %.3g", where,
		*there.Predicted.CommunicationMs, *here.Predicted.CommunicationMs), &gain
}
