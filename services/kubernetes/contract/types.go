// Package contract is a client of Railweave's REST contract, api/openapi.yaml. A test holds every field, path and code here
// against it.
package contract

import "strings"

// Parallelism is the factors of a job's number of ranks.
type Parallelism struct {
	Tensor   int `json:"tensor,omitempty"`
	Pipeline int `json:"pipeline,omitempty"`
	Data     int `json:"data,omitempty"`
	Context  int `json:"context,omitempty"`
	Expert   int `json:"expert,omitempty"`
}

// Product is the number of ranks; factors left out count as one.
func (p Parallelism) Product() int {
	product := 1
	for _, factor := range []int{p.Tensor, p.Pipeline, p.Data, p.Context, p.Expert} {
		if factor > 0 {
			product *= factor
		}
	}
	return product
}

type Bandwidth struct {
	GuaranteedGbpsPerPort float64 `json:"guaranteedGbpsPerPort,omitempty"`
	QosClass              string  `json:"qosClass,omitempty"`
}

type LevelRequest struct {
	Required string `json:"required,omitempty"`
}

type Topology struct {
	Job *LevelRequest `json:"job,omitempty"`
}

type External struct {
	Scheduler string `json:"scheduler,omitempty"`
	ID        string `json:"id,omitempty"`
	Part      string `json:"part,omitempty"`   // its namespace
	Step      string `json:"step,omitempty"`   // of control: observe, order, place
	Advice    string `json:"advice,omitempty"` // where it would have been placed
	// What that would have spared of the communication predicted for a step; nil: it is not known.
	GainPermille *int `json:"gainPermille,omitempty"`
}

// Launcher asks for the acknowledged lifecycle: offered, accepted, running, releasing.
type Launcher struct {
	Acknowledges   bool   `json:"acknowledges"`
	Checkpointable bool   `json:"checkpointable,omitempty"` // it may be offered a move to other GPUs
	ReleaseWithin  string `json:"releaseWithin,omitempty"`
}

// RankPlace is GPUs of a node, in the order of ranks.
type RankPlace struct {
	Node string `json:"node"`
	Gpus []int  `json:"gpus"`
}

// AdoptedPlace is where a job runs already.
type AdoptedPlace struct {
	Ranks []RankPlace `json:"ranks"`
}

// NodePreference is nodes that a job would rather have, or rather avoid.
type NodePreference struct {
	Nodes  []string `json:"nodes,omitempty"`
	Weight int      `json:"weight"`
	Avoid  bool     `json:"avoid,omitempty"`
}

// Toleration is a taint of nodes that does not keep a job away; without a value every value of it.
type Toleration struct {
	Key   string  `json:"key"`
	Value *string `json:"value,omitempty"`
}

// JobRequest is the body of POST /v1/jobs and of POST /v1/placements/query.
type JobRequest struct {
	Name             string           `json:"name,omitempty"`
	Tenant           string           `json:"tenant,omitempty"`
	Priority         string           `json:"priority,omitempty"`
	Parallelism      *Parallelism     `json:"parallelism,omitempty"`
	GpusPerNode      int              `json:"gpusPerNode,omitempty"`
	Bandwidth        *Bandwidth       `json:"bandwidth,omitempty"`
	Topology         *Topology        `json:"topology,omitempty"`
	Nodes            []string         `json:"nodes,omitempty"`
	ExcludeNodes     []string         `json:"excludeNodes,omitempty"`
	PreferNodes      []NodePreference `json:"preferNodes,omitempty"`
	Tolerations      []Toleration     `json:"tolerations,omitempty"`
	ExpectedDuration string           `json:"expectedDuration,omitempty"`
	External         *External        `json:"external,omitempty"`
	Launcher         *Launcher        `json:"launcher,omitempty"`
	Adopt            *AdoptedPlace    `json:"adopt,omitempty"`
	Queue            bool             `json:"queue,omitempty"`
}

// AdviceRequest is the body of POST /v1/placements/advice.
type AdviceRequest struct {
	Job   JobRequest `json:"job"`
	Nodes []string   `json:"nodes"`
}

// PlacementAdvice is what of its answer is used here.
type PlacementAdvice struct {
	Advice       string `json:"advice"`
	GainPermille *int   `json:"gainPermille"`
}

// KeyedRequest is a job of a batch, with what alone is the header Idempotency-Key.
type KeyedRequest struct {
	Key string `json:"key"`
	JobRequest
}

type JobBatch struct {
	Items []KeyedRequest `json:"items"`
}

// BatchedJob is what became of one of them: a job, or a problem.
type BatchedJob struct {
	Key     string   `json:"key"`
	Status  int      `json:"status"`
	Job     *Job     `json:"job,omitempty"`
	Problem *Problem `json:"problem,omitempty"`
}

type JobBatchAnswer struct {
	Items []BatchedJob `json:"items"`
}

type WaitReason struct {
	Code   string `json:"code"`
	Reason string `json:"reason"`
}

// Job is one as lists have it, and what of its details is used here.
type Job struct {
	ID       string       `json:"id"`
	Name     string       `json:"name"`
	State    string       `json:"state"`
	Phase    string       `json:"phase,omitempty"`
	Waits    *WaitReason  `json:"waits"`
	NodeList []string     `json:"nodeList"`
	Version  int64        `json:"version"`
	Spec     StoredSpec   `json:"spec"`
	Launcher *JobLauncher `json:"launcher"`

	CheckpointedAt *string `json:"checkpointedAt"`
}

// JobLauncher is where a job with an acknowledged lifecycle stands.
type JobLauncher struct {
	Release *Release `json:"release"`
	Move    *JobMove `json:"move"`
	Left    []string `json:"left"` // GPUs ("node-7:3") that its ranks left by a repair, until they are freed
}

// JobMove is another place that the job is offered: offered, accepted or moving.
type JobMove struct {
	State  string `json:"state"`
	Reason string `json:"reason"`
}

// Release is why a job gives its GPUs back.
type Release struct {
	Becomes string `json:"becomes"`
	Reason  string `json:"reason"`
}

// StoredSpec is what of a job's specification is read back.
type StoredSpec struct {
	External     *External `json:"external,omitempty"`
	ExcludeNodes []string  `json:"excludeNodes,omitempty"`
	Nodes        []string  `json:"nodes,omitempty"`
}

// JobChange is what is to change of a job that waits.
type JobChange struct {
	ExcludeNodes []string `json:"excludeNodes"`
	Reason       string   `json:"reason,omitempty"`
}

type Nic struct {
	Device string `json:"device"`
	Port   string `json:"port"`
	Rail   *int   `json:"rail"`
}

type Rank struct {
	Rank int               `json:"rank"`
	Node string            `json:"node"`
	Gpu  int               `json:"gpu"`
	Nics []Nic             `json:"nics"`
	Env  map[string]string `json:"env,omitempty"`
}

type Counterfactual struct {
	Change  string `json:"change"`
	Outcome string `json:"outcome"`
}

type Explanation struct {
	Counterfactuals []Counterfactual `json:"counterfactuals"`
}

// Help says what would have the job placed now, "" where nothing small would.
func (e *Explanation) Help() string {
	if e == nil {
		return ""
	}
	var changes []string
	for _, one := range e.Counterfactuals {
		if one.Outcome == "placed" && len(changes) < 3 {
			changes = append(changes, one.Change)
		}
	}
	if len(changes) == 0 {
		return ""
	}
	return "; it would be placed with " + strings.Join(changes, " or with ")
}

// PlacedRanks is the rank map of a what-if that was asked with it.
type PlacedRanks struct {
	Items []Rank `json:"items"`
}

// Predicted is the cost that places are compared by.
type Predicted struct {
	CommunicationMs *float64 `json:"communicationMs"`
}

type PlacementAnswer struct {
	Ranks       PlacedRanks  `json:"ranks"`
	Predicted   *Predicted   `json:"predicted"`
	Outcome     string       `json:"outcome"`
	Reason      string       `json:"reason"`
	Explanation *Explanation `json:"explanation"`
}

type RepairRequest struct {
	Nodes []string `json:"nodes,omitempty"`
}

type NodeLine struct {
	ID       string            `json:"id"`
	Kind     string            `json:"kind"`
	Gpus     int               `json:"gpus"`
	FreeGpus int               `json:"freeGpus"`
	Drained  bool              `json:"drained"`
	Labels   map[string]string `json:"labels"`
}

type NodeFacts struct {
	ID     string             `json:"id"`
	Labels map[string]*string `json:"labels,omitempty"`
}

type Inventory struct {
	Nodes []NodeFacts `json:"nodes"`
}

type Drain struct {
	Kind   string `json:"kind"`
	ID     string `json:"id"`
	Reason string `json:"reason"`
	State  string `json:"state"`
}

type DrainRequest struct {
	Reason string `json:"reason,omitempty"`
}

type Subject struct {
	Kind string `json:"kind"`
	ID   string `json:"id"`
}

type Event struct {
	Seq     int64   `json:"seq"`
	Type    string  `json:"type"`
	Subject Subject `json:"subject"`
}

type FieldError struct {
	Pointer string `json:"pointer"`
}

type Problem struct {
	Status      int          `json:"status"`
	Code        string       `json:"code"`
	Detail      string       `json:"detail"`
	Hint        string       `json:"hint,omitempty"`
	Explanation *Explanation `json:"explanation,omitempty"`
	Errors      []FieldError `json:"errors,omitempty"`
}

// About says that the problem is with this field of the body.
func (p *Problem) About(pointer string) bool {
	for _, one := range p.Errors {
		if one.Pointer == pointer {
			return true
		}
	}
	return false
}

func (p *Problem) Error() string {
	text := p.Detail
	if text == "" {
		text = p.Code
	}
	if p.Hint != "" {
		text += "; " + p.Hint
	}
	return text
}

// Refusal says that the request itself is refused, as opposed to a service that cannot decide now.
func (p *Problem) Refusal() bool {
	return p.Status == 400 || p.Status == 403 || p.Status == 404 || p.Status == 409 || p.Status == 412 || p.Status == 422
}

// FabricPort and what follows is what of the native format is used for the tiers of nodes.
type FabricPort struct {
	Rail string `json:"rail,omitempty"`
}

type FabricAdapter struct {
	Ports []FabricPort `json:"ports"`
}

type FabricGpu struct {
	Domain string `json:"domain,omitempty"`
	Clique *int   `json:"clique,omitempty"`
}

type FabricSubnet struct {
	Name string `json:"name"`
	Kind string `json:"kind,omitempty"`
}

type FabricHost struct {
	Name     string          `json:"name"`
	Kind     string          `json:"kind,omitempty"`
	Adapters []FabricAdapter `json:"adapters"`
	Gpus     []FabricGpu     `json:"gpus"`
}

type FabricSwitch struct {
	Name string `json:"name"`
	Guid string `json:"guid,omitempty"`

	Subnet string `json:"subnet,omitempty"`
}

type Fabric struct {
	Subnets  []FabricSubnet `json:"subnets"`
	Rails    []string       `json:"rails"`
	Switches []FabricSwitch `json:"switches"`
	Hosts    []FabricHost   `json:"hosts"`
	Links    [][]int        `json:"links"`
}
