package group

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"railweave.dev/kubernetes/contract"
	"railweave.dev/kubernetes/names"
	"railweave.dev/kubernetes/policy"
)

// Demand is what the pods of a group ask for, apart from their number.
type Demand struct {
	Tenant      string
	Gpus        int // of one pod
	Parallelism contract.Parallelism
	Level       string
	Priority    string
	Guarantee   float64
	QosClass    string
	Duration    string
	PodsPerNode int  // 0: as many as there is room for
	Imex        bool // a ComputeDomain is made for it
	// Its pods go on from what they saved when they are made again; GraceS is the time in seconds that they have to end.
	Checkpointable bool
	GraceS         int64
}

var (
	levels    = []string{"nvlinkDomain", "node", "rack", "leafGroup", "pod", "cluster", "site", "wan"}
	durations = regexp.MustCompile(`^P([0-9]+W)?([0-9]+D)?(T([0-9]+H)?([0-9]+M)?([0-9]+S)?)?$`)
)

// Plain is what a pod holds that runs without having been placed: what its annotations say was never granted. Its namespace is charged.
func Plain(pod *corev1.Pod, resources string, rules *policy.Policy) (Demand, error) {
	tenant, err := rules.Charged(pod.Namespace)
	return Demand{Tenant: tenant, Gpus: Gpus(pod, resources)}, err
}

// DemandOf reads a pod. The error says which annotation is wrong, or not allowed to its namespace, and what to write.
func DemandOf(pod *corev1.Pod, resources string, rules *policy.Policy) (Demand, error) {
	demand := Demand{Gpus: Gpus(pod, resources)}
	if demand.Gpus == 0 {
		if other := OtherGpus(pod, resources); other != "" {
			return demand, fmt.Errorf("it asks for %s, and Railweave places pods by %s; remove the gate %s, or have the operator name it with --gpu-resource", other, resources, names.Gate)
		}
		return demand, fmt.Errorf("no container asks for %s; only pods with GPUs are placed: remove the gate %s or set a limit", resources, names.Gate)
	}
	demand.Imex = pod.Annotations[names.Imex] == "true"
	var err error
	if demand.Parallelism, err = factors(pod.Annotations[names.Parallelism]); err != nil {
		return demand, err
	}
	if demand.Level = pod.Annotations[names.Level]; demand.Level != "" && !contains(levels, demand.Level) {
		return demand, fmt.Errorf("annotation %s is %q; it is one of %s", names.Level, demand.Level, strings.Join(levels, ", "))
	}
	if text := pod.Annotations[names.Guarantee]; text != "" {
		if demand.Guarantee, err = strconv.ParseFloat(text, 64); err != nil || !(demand.Guarantee > 0 && demand.Guarantee < 1e6) {
			return demand, fmt.Errorf("annotation %s is %q; write Gb/s of each port, for example \"100\"", names.Guarantee, text)
		}
	}
	if demand.Duration = pod.Annotations[names.Duration]; demand.Duration != "" && (!durations.MatchString(demand.Duration) || len(demand.Duration) < 3) {
		return demand, fmt.Errorf("annotation %s is %q; write an ISO 8601 duration, for example \"PT36H\"", names.Duration, demand.Duration)
	}
	if text := pod.Annotations[names.PodsPerNode]; text != "" {
		if demand.PodsPerNode, err = strconv.Atoi(text); err != nil || demand.PodsPerNode < 1 || demand.PodsPerNode*demand.Gpus > 64 {
			return demand, fmt.Errorf("annotation %s is %q; write how many pods of %d GPUs share a node, for example \"1\"", names.PodsPerNode, text, demand.Gpus)
		}
	}
	if err := checkpoints(pod, &demand); err != nil {
		return demand, err
	}
	return settled(demand, pod, rules)
}

// checkpoints reads whether the pods may be ended and made again elsewhere.
func checkpoints(pod *corev1.Pod, demand *Demand) error {
	switch text := pod.Annotations[names.Checkpointable]; text {
	case "", "false":
		return nil
	case "true":
		demand.Checkpointable = true
	default:
		return fmt.Errorf("annotation %s is %q; write \"true\" where the pods save their state when they are ended and go on from there, else leave it out", names.Checkpointable, text)
	}
	if pod.Spec.TerminationGracePeriodSeconds != nil {
		demand.GraceS = *pod.Spec.TerminationGracePeriodSeconds
	}
	return nil
}

// settled is the demand as far as the operator allows it to the namespace.
func settled(demand Demand, pod *corev1.Pod, rules *policy.Policy) (Demand, error) {
	granted, err := rules.Settle(pod.Namespace, policy.Asked{Tenant: pod.Annotations[names.Tenant], Priority: pod.Annotations[names.Priority],
		PriorityClass: pod.Spec.PriorityClassName, Class: pod.Annotations[names.QosClass], Guarantee: demand.Guarantee})
	demand.Tenant, demand.Priority, demand.QosClass = granted.Tenant, granted.Priority, granted.Class
	return demand, err
}

func contains(list []string, one string) bool {
	for _, each := range list {
		if each == one {
			return true
		}
	}
	return false
}

func factors(text string) (contract.Parallelism, error) {
	var read contract.Parallelism
	of := map[string]*int{"tp": &read.Tensor, "pp": &read.Pipeline, "dp": &read.Data, "cp": &read.Context, "ep": &read.Expert}
	for _, word := range strings.FieldsFunc(text, func(c rune) bool { return c == ' ' || c == ',' || c == ';' }) {
		name, value, _ := strings.Cut(word, "=")
		factor, known := of[name]
		if !known {
			return read, fmt.Errorf("annotation %s has %q, which is none of tp, pp, dp, cp and ep; write for example \"tp=8 pp=2\"", names.Parallelism, name)
		}
		number, err := strconv.Atoi(value)
		if err != nil || number < 1 || number > 1<<20 {
			return read, fmt.Errorf("annotation %s has %s=%q, which is no number from 1 on; write for example \"tp=8 pp=2\"", names.Parallelism, name, value)
		}
		*factor = number
	}
	return read, nil
}

// Filled is the parallelism with the data-parallel factor that the others leave of this number of GPUs.
func (d Demand) Filled(pods int) (contract.Parallelism, error) {
	filled, gpus := d.Parallelism, pods*d.Gpus
	given := filled.Data
	filled.Data = 0
	others := filled.Product()
	if gpus%others == 0 && (given == 0 || given*others == gpus) {
		filled.Data = gpus / others
		return filled, nil
	}
	filled.Data = given
	return filled, fmt.Errorf("%d pods of %d GPUs are %d ranks, but annotation %s says %d; their product has to be the number of GPUs, or divide it where dp is left out",
		pods, d.Gpus, gpus, names.Parallelism, filled.Product())
}
