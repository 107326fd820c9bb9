// Package group says which pods belong together, in which order, and what they ask for.
package group

import (
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"railweave.dev/kubernetes/names"
)

// Kinds of groups, as they are in names of jobs.
const (
	Annotated     = "group"
	JobSet        = "jobset"
	LeaderWorker  = "lws"
	PyTorchJob    = "pytorchjob"
	MPIJob        = "mpijob"
	RayCluster    = "raycluster"
	IndexedJob    = "job"
	PodGroup      = "podgroup"
	SinglePod     = "pod"
	jobNameLabel  = "batch.kubernetes.io/job-name"
	jobUIDLabel   = "batch.kubernetes.io/controller-uid"
	jobIndexLabel = "batch.kubernetes.io/job-completion-index"

	jobSetName      = "jobset.sigs.k8s.io/jobset-name"
	jobSetUID       = "jobset.sigs.k8s.io/jobset-uid"
	jobSetReplica   = "jobset.sigs.k8s.io/replicatedjob-name"
	jobSetJobIndex  = "jobset.sigs.k8s.io/job-index"
	lwsName         = "leaderworkerset.sigs.k8s.io/name"
	lwsGroup        = "leaderworkerset.sigs.k8s.io/group-index"
	lwsWorker       = "leaderworkerset.sigs.k8s.io/worker-index"
	lwsSize         = "leaderworkerset.sigs.k8s.io/size"
	trainingJob     = "training.kubeflow.org/job-name"
	trainingType    = "training.kubeflow.org/replica-type"
	trainingIndex   = "training.kubeflow.org/replica-index"
	trainingRole    = "training.kubeflow.org/job-role"
	trainingMaker   = "training.kubeflow.org/operator-name"
	rayCluster      = "ray.io/cluster"
	rayType         = "ray.io/node-type"
	coschedulingPod = "scheduling.x-k8s.io/pod-group"
	statefulIndex   = "apps.kubernetes.io/pod-index"
	kueueQueue      = "kueue.x-k8s.io/queue-name"
)

// Key names a group. Two objects of one name that exist one after the other have different keys.
type Key struct {
	Namespace, Kind, Name, UID string
}

func (k Key) String() string { return k.Namespace + "/" + k.Kind + "/" + k.Name }

// KeyOfJob is the group of a Job's pods.
func KeyOfJob(job metav1.Object) Key {
	return Key{job.GetNamespace(), IndexedJob, job.GetName(), string(job.GetUID())}
}

// JobName is the name of its job in Railweave.
func (k Key) JobName(cluster string) string {
	uid := k.UID
	if len(uid) > 8 {
		uid = uid[:8]
	}
	return shorten(Prefix(cluster)+k.Namespace+"/"+k.Kind+"/"+k.Name, uid)
}

// ObjectPrefix is what names of objects of groups begin with.
const ObjectPrefix = "railweave-"

// ObjectName is one for objects that belong to the group.
func (k Key) ObjectName() string {
	name := strings.ToLower(strings.Trim(notInNames.ReplaceAllString(k.Name, "-"), "-"))
	return strings.Trim(ObjectPrefix+name[:min(len(name), 40)], "-") + "-" + strings.ToLower(hash(k.String() + "/" + k.UID)[:8])
}

var notInNames = regexp.MustCompile(`[^A-Za-z0-9-]+`)

// Prefix is what the names of all jobs of a cluster begin with.
func Prefix(cluster string) string { return "kubernetes/" + cluster + "/" }

func shorten(name, uid string) string {
	const most = 253
	if uid != "" {
		uid = "/" + uid
	}
	if len(name)+len(uid) <= most {
		return name + uid
	}
	tail := "~" + hash(name)
	return name[:most-len(uid)-len(tail)] + tail + uid
}

// Managed says that the pod waits, or has waited, for Railweave. Other pods are only known by the GPUs that they hold.
func Managed(pod *corev1.Pod) bool {
	if Gated(pod) {
		return true
	}
	if pod.Annotations[names.Left] != "" {
		return false
	}
	return Extended(pod) || pod.Annotations[names.Job] != "" && pod.Annotations[names.Ranks] != "" || pod.Annotations[names.Lifted] != ""
}

// Extended says that the scheduler extender keeps the pod from starting, in the place of a gate.
func Extended(pod *corev1.Pod) bool { return pod.Annotations[names.Extender] == "true" }

// Gated says that the pod waits behind Railweave's gate, or what is in its place.
func Gated(pod *corev1.Pod) bool {
	if Extended(pod) && pod.Spec.NodeName == "" && pod.Annotations[names.Job] == "" && pod.Annotations[names.Lifted] == "" && pod.Annotations[names.Left] == "" {
		return true
	}
	for _, gate := range pod.Spec.SchedulingGates {
		if gate.Name == names.Gate {
			return true
		}
	}
	return false
}

// KeyOf is the group that the pod belongs to.
func KeyOf(pod *corev1.Pod) Key {
	if !Managed(pod) {
		return Key{pod.Namespace, SinglePod, pod.Name, string(pod.UID)}
	}
	return KeyOfTemplate(pod)
}

// KeyOfTemplate is the group that a pod belongs to once it is gated.
func KeyOfTemplate(pod *corev1.Pod) Key {
	key := func(kind, name, uid string) Key { return Key{pod.Namespace, kind, name, uid} }
	label := func(name string) string { return pod.Labels[name] }
	switch {
	case pod.Annotations[names.Alone] == "true":
		return key(SinglePod, pod.Name, string(pod.UID))
	case pod.Annotations[names.Group] != "":
		return key(Annotated, pod.Annotations[names.Group], "")
	case label(names.Group) != "":
		return key(Annotated, label(names.Group), "")
	case label(jobSetName) != "":
		return key(JobSet, label(jobSetName), label(jobSetUID))
	case label(lwsName) != "" && label(lwsGroup) != "":
		return key(LeaderWorker, label(lwsName)+"."+label(lwsGroup), "")
	case trainingKind(pod) == PyTorchJob:
		return key(PyTorchJob, label(trainingJob), ownerUID(pod, "PyTorchJob"))
	case trainingKind(pod) == MPIJob: // of its launcher a Job is the owner
		return key(MPIJob, label(trainingJob), "")
	case label(rayCluster) != "":
		return key(RayCluster, label(rayCluster), ownerUID(pod, "RayCluster"))
	case label(jobNameLabel) != "" && (label(trainingJob) == "" || OwnerKind(pod) == "Job"):
		return key(IndexedJob, label(jobNameLabel), label(jobUIDLabel))
	case podGroupName(pod) != "":
		return key(PodGroup, podGroupName(pod), "")
	}
	return key(SinglePod, pod.Name, string(pod.UID))
}

// OwnerKind is the kind of the pod's controller, "" where it has none.
func OwnerKind(pod *corev1.Pod) string {
	if owner := metav1.GetControllerOf(pod); owner != nil {
		return owner.Kind
	}
	return ""
}

// trainingKind is the kind of Kubeflow's that the pod is of, as far as it is known here.
func trainingKind(pod *corev1.Pod) string {
	if pod.Labels[trainingJob] == "" {
		return ""
	}
	switch OwnerKind(pod) {
	case "PyTorchJob":
		return PyTorchJob
	case "MPIJob":
		return MPIJob
	case "", "Job":
		switch maker := pod.Labels[trainingMaker]; {
		case maker == "mpi-operator" || maker == "mpijob-controller":
			return MPIJob
		case maker == "" || maker == "pytorchjob-controller":
			return PyTorchJob
		}
	}
	return ""
}

// oneByOneKinds own pods that are placed each by itself.
var oneByOneKinds = map[string]bool{"": true, "ReplicaSet": true, "ReplicationController": true, "StatefulSet": true, "Job": true}

// Steady says that groups of the kind keep their number of pods, and are no gangs already.
func Steady(kind string) bool {
	switch kind {
	case SinglePod, PodGroup, RayCluster:
		return false
	}
	return true
}

func podGroupName(pod *corev1.Pod) string {
	if pod.Spec.SchedulingGroup != nil && pod.Spec.SchedulingGroup.PodGroupName != nil {
		return *pod.Spec.SchedulingGroup.PodGroupName
	}
	return pod.Labels[coschedulingPod]
}

func ownerUID(pod *corev1.Pod, kind string) string {
	if owner := metav1.GetControllerOf(pod); owner != nil && strings.EqualFold(owner.Kind, kind) {
		return string(owner.UID)
	}
	return ""
}
