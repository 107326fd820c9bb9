package group

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"railweave.dev/kubernetes/names"
)

// Layout is what the owner of a group says of it.
type Layout struct {
	Size    int    // number of pods that ask for GPUs; 0 where it is not known
	Unknown string // why it is not known, and what to do
	Ended   bool   // the owner has finished or is gone: no pod comes any more
	// A Job that nothing else suspends: so all of its pods are made again at once, where deleted ones would come back after up to ten
	// minutes, because it counts them as failures.
	Suspendable bool
	Suspended   bool             // by the controller
	Replicas    map[string]Slice // of a JobSet: the pods of each replicated job
	// Its pods are no group: it has more completions than pods at a time, and each new one begins when another has ended.
	Waves bool
	// Of a JobSet: the replicated jobs of which that holds.
	WaveReplicas map[string]bool
	Left         string // why its pods are left to the scheduler
}

// Slice is pods of consecutive positions.
type Slice struct{ First, PerJob int }

// Alone says that the pod is placed by itself, and not with its group.
func (l *Layout) Alone(pod *corev1.Pod) bool {
	return l.Waves || l.WaveReplicas[pod.Labels[jobSetReplica]]
}

// Owners reads the objects that own groups. Those of the API server itself come from a cache, others are read by what the API
// server says of their version.
type Owners struct {
	Cached      client.Reader
	Live        client.Reader
	Mapper      meta.RESTMapper
	GpuResource string
	Claims      *Claims // may be nil
}

// Layout of the group. `pods` are those that exist.
func (o *Owners) Layout(ctx context.Context, key Key, pods []*corev1.Pod) (Layout, error) {
	layout, err := o.ofOwner(ctx, key, pods)
	if left := (*unreadable)(nil); errors.As(err, &left) {
		layout = Layout{Left: left.Error()}
	} else if err != nil {
		return layout, err
	}
	for _, pod := range pods {
		if text := pod.Annotations[names.GroupSize]; text != "" {
			layout.Size, layout.Unknown, layout.Left = 0, "", ""
			if size, err := strconv.Atoi(text); err == nil && size > 0 {
				layout.Size = size
			} else {
				layout.Unknown = fmt.Sprintf("annotation %s is %q, which is no number from 1 on", names.GroupSize, text)
			}
			break
		}
	}
	if layout.Size == 0 && layout.Unknown == "" && layout.Left == "" && !layout.Ended {
		layout.Unknown = fmt.Sprintf("the number of pods of %s is not known; say it in annotation %s", key, names.GroupSize)
	}
	return layout, nil
}

func (o *Owners) ofOwner(ctx context.Context, key Key, pods []*corev1.Pod) (Layout, error) {
	at := client.ObjectKey{Namespace: key.Namespace, Name: key.Name}
	switch key.Kind {
	case SinglePod:
		return single(pods), nil
	case IndexedJob:
		return o.ofJob(ctx, at, key.UID, len(pods) > 0)
	case JobSet:
		return o.ofJobSet(ctx, at, key.UID)
	case LeaderWorker:
		return o.ofLeaderWorker(ctx, at, pods)
	case PyTorchJob:
		return o.ofPyTorchJob(ctx, at, key.UID)
	case MPIJob:
		return o.ofMPIJob(ctx, at)
	case RayCluster:
		return o.ofRayCluster(ctx, at, key.UID)
	case PodGroup:
		return o.ofPodGroup(ctx, at)
	}
	return Layout{}, nil
}

func (o *Owners) ofJob(ctx context.Context, at client.ObjectKey, uid string, pods bool) (Layout, error) {
	job := &batchv1.Job{}
	err := o.Cached.Get(ctx, at, job)
	if apierrors.IsNotFound(err) && pods {
		err = o.Live.Get(ctx, at, job) // its pods may be seen before it is
	}
	if apierrors.IsNotFound(err) {
		return Layout{Ended: true}, nil
	} else if err != nil {
		return Layout{}, err
	}
	layout := Layout{Size: 1, Ended: uid != "" && string(job.UID) != uid || job.DeletionTimestamp != nil}
	if job.Spec.Parallelism != nil {
		layout.Size = int(*job.Spec.Parallelism)
	}
	if job.Spec.Completions != nil {
		layout.Waves = int(*job.Spec.Completions) > layout.Size
		layout.Size = min(layout.Size, int(*job.Spec.Completions))
	}
	layout.Suspended = !layout.Ended && job.Annotations[names.Suspended] != ""
	if job.Spec.Suspend != nil && *job.Spec.Suspend && !layout.Suspended {
		layout.Ended = true // by its user
	}
	layout.Suspendable = metav1.GetControllerOf(job) == nil && job.Labels[kueueQueue] == ""
	for _, condition := range job.Status.Conditions {
		ended := condition.Type == batchv1.JobComplete || condition.Type == batchv1.JobFailed
		layout.Ended = layout.Ended || ended && condition.Status == corev1.ConditionTrue
	}
	return layout, nil
}

// single is a pod by itself. Where its owner is of a kind that is not known here, it may be one of many that need each other.
func single(pods []*corev1.Pod) Layout {
	layout := Layout{Size: 1, Ended: len(pods) == 0}
	if len(pods) > 0 && OwnerKind(pods[0]) == "DaemonSet" {
		layout.Left = "its DaemonSet says on which node it runs"
	} else if len(pods) > 0 && pods[0].Annotations[names.Alone] != "true" && !oneByOneKinds[OwnerKind(pods[0])] {
		layout.Left = fmt.Sprintf("Railweave does not know which pods of its owner, a %s, belong together; annotations %s and %s, or %s, would say it",
			OwnerKind(pods[0]), names.Group, names.GroupSize, names.Alone)
	}
	return layout
}

// unreadable is an owner that cannot be read here, whatever is tried.
type unreadable struct{ text string }

func (u *unreadable) Error() string { return u.text }

// object reads one whose kind the API server has in a version of its own choice; nil where there is none.
func (o *Owners) object(ctx context.Context, kind schema.GroupKind, at client.ObjectKey, uid string) (*unstructured.Unstructured, error) {
	mapping, err := o.Mapper.RESTMapping(kind)
	if meta.IsNoMatchError(err) {
		return nil, &unreadable{fmt.Sprintf("it is of a %s, and the API server has no such kind (%s)", kind.Kind, kind.Group)}
	} else if err != nil {
		return nil, err
	}
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(mapping.GroupVersionKind)
	if err := o.Live.Get(ctx, at, object); apierrors.IsNotFound(err) {
		return nil, nil
	} else if apierrors.IsForbidden(err) {
		return nil, &unreadable{fmt.Sprintf("its %s may not be read by Railweave's controller: apply deploy/kubernetes/rbac.yaml of this release", kind.Kind)}
	} else if err != nil {
		return nil, err
	}
	if object.GetDeletionTimestamp() != nil || uid != "" && string(object.GetUID()) != uid {
		return nil, nil
	}
	return object, nil
}

func ended(object *unstructured.Unstructured) bool {
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	for _, one := range conditions {
		condition, _ := one.(map[string]any)
		switch condition["type"] {
		case "Completed", "Failed", "Succeeded", "Suspended":
			if condition["status"] == "True" {
				return true
			}
		}
	}
	return false
}

func number(from map[string]any, otherwise int, path ...string) int {
	if value, found, err := unstructured.NestedInt64(from, path...); found && err == nil {
		return int(value)
	}
	return otherwise
}

// asksForGpus says that a pod of the template would hold GPUs.
func (o *Owners) asksForGpus(ctx context.Context, namespace string, template map[string]any) bool {
	read := &corev1.PodTemplateSpec{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(template, read); err != nil {
		return false
	}
	pod := &corev1.Pod{ObjectMeta: read.ObjectMeta, Spec: read.Spec}
	if Gpus(pod, o.GpuResource) > 0 || o.Claims == nil || len(pod.Spec.ResourceClaims) == 0 {
		return Gpus(pod, o.GpuResource) > 0
	}
	counted, err := o.Claims.Of(ctx, pod, namespace)
	return err == nil && counted.Gpus > 0
}

func (o *Owners) ofJobSet(ctx context.Context, at client.ObjectKey, uid string) (Layout, error) {
	object, err := o.object(ctx, schema.GroupKind{Group: "jobset.x-k8s.io", Kind: "JobSet"}, at, uid)
	if object == nil {
		return Layout{Ended: err == nil}, err
	}
	layout := Layout{Ended: ended(object), Replicas: map[string]Slice{}, WaveReplicas: map[string]bool{}}
	jobs, _, _ := unstructured.NestedSlice(object.Object, "spec", "replicatedJobs")
	for _, one := range jobs {
		replicated, _ := one.(map[string]any)
		template, _, _ := unstructured.NestedMap(replicated, "template", "spec", "template")
		if !o.asksForGpus(ctx, at.Namespace, template) {
			continue
		}
		name, _ := replicated["name"].(string)
		perJob := number(replicated, 1, "template", "spec", "parallelism")
		completions := number(replicated, perJob, "template", "spec", "completions")
		if completions > perJob {
			layout.WaveReplicas[name] = true
			continue
		}
		perJob = min(perJob, completions)
		layout.Replicas[name] = Slice{First: layout.Size, PerJob: perJob}
		layout.Size += number(replicated, 1, "replicas") * perJob
	}
	if oneByOne(object, jobs, layout.Replicas) {
		layout.Size, layout.Unknown = 0, "its JobSet makes some pods with GPUs only when others run, and a group is placed as a whole: leave out dependsOn and startupPolicy InOrder between them"
	}
	return layout, nil
}

// oneByOne says that a JobSet makes pods with GPUs only when others with GPUs run.
func oneByOne(object *unstructured.Unstructured, jobs []any, replicas map[string]Slice) bool {
	order, _, _ := unstructured.NestedString(object.Object, "spec", "startupPolicy", "startupPolicyOrder")
	if order == "InOrder" {
		return len(replicas) > 1
	}
	for _, one := range jobs {
		replicated, _ := one.(map[string]any)
		name, _ := replicated["name"].(string)
		if _, asks := replicas[name]; !asks {
			continue
		}
		dependencies, _, _ := unstructured.NestedSlice(replicated, "dependsOn")
		for _, each := range dependencies {
			dependency, _ := each.(map[string]any)
			on, _ := dependency["name"].(string)
			if _, asks := replicas[on]; asks {
				return true
			}
		}
	}
	return false
}

// ofLeaderWorker is the pods of one replica, as they say themselves.
func (o *Owners) ofLeaderWorker(ctx context.Context, at client.ObjectKey, pods []*corev1.Pod) (Layout, error) {
	if len(pods) == 0 {
		return Layout{Ended: true}, nil
	}
	layout := Layout{}
	for _, pod := range pods {
		for _, text := range []string{pod.Annotations[lwsSize], pod.Labels[lwsSize]} {
			if size, err := strconv.Atoi(text); err == nil && size > 0 {
				layout.Size = size
			}
		}
	}
	if layout.Size <= len(pods) {
		return layout, nil
	}
	at.Name = pods[0].Labels[lwsName]
	object, err := o.object(ctx, schema.GroupKind{Group: "leaderworkerset.x-k8s.io", Kind: "LeaderWorkerSet"}, at, "")
	if left := (*unreadable)(nil); object == nil && errors.As(err, &left) {
		return layout, nil // its pods say enough
	} else if object == nil {
		return layout, err
	}
	if policy, _, _ := unstructured.NestedString(object.Object, "spec", "startupPolicy"); policy == "LeaderReady" {
		layout.Size, layout.Unknown = 0, "startupPolicy LeaderReady makes the workers only when the leader runs, and a group is placed as a whole: write LeaderCreated"
	}
	return layout, nil
}

func (o *Owners) ofPyTorchJob(ctx context.Context, at client.ObjectKey, uid string) (Layout, error) {
	object, err := o.object(ctx, schema.GroupKind{Group: "kubeflow.org", Kind: "PyTorchJob"}, at, uid)
	if object == nil {
		return Layout{Ended: err == nil}, err
	}
	layout := Layout{Ended: ended(object), Replicas: map[string]Slice{}}
	for _, kind := range []string{"Master", "Worker"} {
		replica, found, _ := unstructured.NestedMap(object.Object, "spec", "pytorchReplicaSpecs", kind)
		template, _, _ := unstructured.NestedMap(replica, "template")
		if !found || !o.asksForGpus(ctx, at.Namespace, template) {
			continue
		}
		layout.Replicas[kind] = Slice{First: layout.Size, PerJob: 1}
		layout.Size += number(replica, 1, "replicas")
	}
	return layout, nil
}

// launches says that the pod is an MPIJob's launcher.
func launches(pod *corev1.Pod) bool {
	return strings.EqualFold(pod.Labels[trainingRole], "launcher") || strings.EqualFold(pod.Labels[trainingType], "launcher")
}

// ofMPIJob is the workers, and before them the launcher where it has GPUs. One that waits for its workers to be ready would never come.
func (o *Owners) ofMPIJob(ctx context.Context, at client.ObjectKey) (Layout, error) {
	object, err := o.object(ctx, schema.GroupKind{Group: "kubeflow.org", Kind: "MPIJob"}, at, "")
	if object == nil {
		return Layout{Ended: err == nil}, err
	}
	layout := Layout{Ended: ended(object), Replicas: map[string]Slice{}}
	launcher, found, _ := unstructured.NestedMap(object.Object, "spec", "mpiReplicaSpecs", "Launcher", "template")
	if found && o.asksForGpus(ctx, at.Namespace, launcher) {
		layout.Size = 1
		if policy, _, _ := unstructured.NestedString(object.Object, "spec", "launcherCreationPolicy"); policy == "WaitForWorkersReady" {
			return Layout{Unknown: "launcherCreationPolicy WaitForWorkersReady makes the launcher, which asks for GPUs, only when the workers run, and a group is placed as a whole: write AtStartup"}, nil
		}
	}
	worker, found, _ := unstructured.NestedMap(object.Object, "spec", "mpiReplicaSpecs", "Worker")
	template, _, _ := unstructured.NestedMap(worker, "template")
	if found && o.asksForGpus(ctx, at.Namespace, template) {
		layout.Replicas["Worker"] = Slice{First: layout.Size, PerJob: 1}
		layout.Size += number(worker, 1, "replicas")
	}
	return layout, nil
}

func (o *Owners) ofRayCluster(ctx context.Context, at client.ObjectKey, uid string) (Layout, error) {
	object, err := o.object(ctx, schema.GroupKind{Group: "ray.io", Kind: "RayCluster"}, at, uid)
	if object == nil {
		return Layout{Ended: err == nil}, err
	}
	layout := Layout{Replicas: map[string]Slice{}}
	if head, found, _ := unstructured.NestedMap(object.Object, "spec", "headGroupSpec", "template"); found && o.asksForGpus(ctx, at.Namespace, head) {
		layout.Size = 1
		layout.Replicas["head"] = Slice{First: 0, PerJob: 1}
	}
	workers, _, _ := unstructured.NestedSlice(object.Object, "spec", "workerGroupSpecs")
	for _, one := range workers {
		worker, _ := one.(map[string]any)
		if template, _, _ := unstructured.NestedMap(worker, "template"); o.asksForGpus(ctx, at.Namespace, template) {
			layout.Size += number(worker, 1, "replicas") * number(worker, 1, "numOfHosts")
		}
	}
	return layout, nil
}

// ofPodGroup reads Kubernetes' own PodGroup, or the one of the coscheduling plugin.
func (o *Owners) ofPodGroup(ctx context.Context, at client.ObjectKey) (Layout, error) {
	object, err := o.object(ctx, schema.GroupKind{Group: "scheduling.k8s.io", Kind: "PodGroup"}, at, "")
	if object != nil {
		size := number(object.Object, 0, "spec", "schedulingPolicy", "gang", "minCount")
		if size == 0 {
			return Layout{Left: "its PodGroup is no gang: the scheduler places its pods one by one"}, nil
		}
		return Layout{Size: size}, nil
	}
	if left := (*unreadable)(nil); err == nil || errors.As(err, &left) {
		object, err = o.object(ctx, schema.GroupKind{Group: "scheduling.x-k8s.io", Kind: "PodGroup"}, at, "")
	}
	if object == nil {
		return Layout{Ended: err == nil}, err
	}
	return Layout{Size: number(object.Object, 0, "spec", "minMember")}, nil
}
