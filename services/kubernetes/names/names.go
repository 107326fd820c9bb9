// Package names has what pods, nodes and objects are marked with.
package names

const (
	Prefix = "railweave.dev/"

	// Gate is what a pod waits behind until its group is placed.
	Gate = Prefix + "placement"

	// What users write on pods.
	Group        = Prefix + "group"          // pods of one value are one group
	GroupSize    = Prefix + "group-size"     // its number of pods, where the owner does not say
	PodIndex     = Prefix + "pod-index"      // position in the group, where the owner does not say
	Tenant       = Prefix + "tenant"         // owner in Railweave
	Parallelism  = Prefix + "parallelism"    // "tp=8 pp=2"
	Level        = Prefix + "level"          // which one group of must hold the whole job
	Priority     = Prefix + "priority"       // class of the queue
	Guarantee    = Prefix + "guarantee"      // Gb/s of each port
	QosClass     = Prefix + "class"          // class of traffic
	Duration     = Prefix + "duration"       // how long it will run, ISO 8601
	PodsPerNode  = Prefix + "pods-per-node"  // how many share a node
	Imex         = Prefix + "compute-domain" // "true": its nodes share memory over NVLink by a ComputeDomain
	Extender     = Prefix + "extender"       // "true": not gated, but held by the scheduler extender
	Skip         = Prefix + "skip"           // "true": left to the scheduler alone
	Alone        = Prefix + "alone"          // "true": not with the others of its owner, but by itself
	EnrolledName = Prefix + "enabled"        // label of namespaces whose pods are gated

	// Checkpointable is "true" of pods that save their state when they are ended, and go on from there when they are made again.
	Checkpointable = Prefix + "checkpointable"
	// Checkpointed is when the group has saved its state, RFC 3339: of its pods' the latest.
	Checkpointed = Prefix + "checkpointed"

	// What the controller writes on pods.
	Job    = Prefix + "job"
	Node   = Prefix + "node"
	Ranks  = Prefix + "ranks"
	Gpus   = Prefix + "gpus"
	Rails  = Prefix + "rails"
	Hca    = Prefix + "nccl-ib-hca"
	Lifted = Prefix + "lifted"
	Left   = Prefix + "left" // why it is left to the scheduler
	// ClaimedGpus is how many GPUs the pod's ResourceClaims are for.
	ClaimedGpus = Prefix + "claimed-gpus"
	Hosts       = Prefix + "hosts" // number of nodes of the group
	// At the step order, of pods that the scheduler has placed: their order from 0, the host of the first, and on those that may launch
	// all hosts.
	Order      = Prefix + "order"
	OrderFirst = Prefix + "order-first"
	Hostfile   = Prefix + "hostfile"
	// Suspended is why the controller suspended a Job: all of its pods go, and new ones come at once.
	Suspended = Prefix + "suspended"

	// PlacedCondition is the condition of pods that says why they wait.
	PlacedCondition = Prefix + "Placed"

	// What the controller writes on nodes.
	Cordoned     = Prefix + "cordoned"       // cordoned because Railweave drains it: the drain's reason
	LabelsOfOurs = Prefix + "written-labels" // names of labels that the controller wrote
	RailsLabel   = Prefix + "rails"

	// WrittenLabel is of objects that the controller wrote for other schedulers.
	WrittenLabel = Prefix + "written"
)

// Written is what the controller alone writes on pods: what it would believe of a pod that says so itself.
var Written = []string{Job, Node, Ranks, Gpus, Rails, Lifted, Hosts, Order, OrderFirst, Hostfile}

// ImexClaim is the pod's claim for the channel of a ComputeDomain.
const ImexClaim = "railweave-compute-domain"

// DefaultDeviceClasses are DeviceClasses of which a device is a GPU.
const DefaultDeviceClasses = "gpu.nvidia.com,gpu.amd.com"

// DefaultGpuResource is what pods ask GPUs by.
const DefaultGpuResource = "nvidia.com/gpu"
