package group

import (
	"context"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"railweave.dev/kubernetes/names"
)

// cluster has one Job and one object of another kind.
type cluster struct {
	client.Reader
	job    batchv1.JobSpec
	object map[string]any
}

func (c cluster) Get(_ context.Context, _ client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	switch held := into.(type) {
	case *batchv1.Job:
		held.Spec = c.job
	case *unstructured.Unstructured:
		held.Object["spec"] = c.object
	}
	return nil
}

func owners(c cluster, kinds ...schema.GroupVersionKind) *Owners {
	var versions []schema.GroupVersion
	for _, kind := range kinds {
		versions = append(versions, kind.GroupVersion())
	}
	mapper := meta.NewDefaultRESTMapper(versions)
	for _, kind := range kinds {
		mapper.Add(kind, meta.RESTScopeNamespace)
	}
	return &Owners{Cached: c, Live: c, Mapper: mapper, GpuResource: names.DefaultGpuResource}
}

func TestJobsWithMoreCompletionsThanPods(t *testing.T) {
	number := func(value int32) *int32 { return &value }
	for name, one := range map[string]struct {
		job   batchv1.JobSpec
		waves bool
		size  int
	}{
		"as many":      {batchv1.JobSpec{Parallelism: number(4), Completions: number(4)}, false, 4},
		"more":         {batchv1.JobSpec{Parallelism: number(4), Completions: number(5)}, true, 4},
		"fewer":        {batchv1.JobSpec{Parallelism: number(4), Completions: number(3)}, false, 3},
		"a work queue": {batchv1.JobSpec{Parallelism: number(4)}, false, 4},
		"one by one":   {batchv1.JobSpec{Completions: number(3)}, true, 1},
	} {
		layout, err := owners(cluster{job: one.job}).Layout(context.Background(), Key{Kind: IndexedJob, Name: "j"}, []*corev1.Pod{podOf(nil, nil)})
		if err != nil || layout.Waves != one.waves || layout.Size != one.size || layout.Alone(podOf(nil, nil)) != one.waves {
			t.Errorf("%s: %+v %v", name, layout, err)
		}
	}
}

func template(gpus string) map[string]any {
	return map[string]any{"spec": map[string]any{"containers": []any{map[string]any{"name": "c", "resources": map[string]any{"limits": map[string]any{names.DefaultGpuResource: gpus}}}}}}
}

func TestMPIJobs(t *testing.T) {
	kind := schema.GroupVersionKind{Group: "kubeflow.org", Version: "v2beta1", Kind: "MPIJob"}
	worker := map[string]any{"replicas": int64(2), "template": template("8")}
	labels := func(role, index string) map[string]string {
		return map[string]string{trainingJob: "mpi", trainingRole: role, trainingIndex: index, trainingMaker: "mpi-operator"}
	}
	workerPod := func(name, index string) *corev1.Pod {
		pod := podOf(labels("worker", index), nil)
		pod.Name = name
		return pod
	}
	for _, works := range []bool{false, true} {
		spec := map[string]any{"runLauncherAsWorker": works, "mpiReplicaSpecs": map[string]any{"Worker": worker, "Launcher": map[string]any{"template": map[string]any{}}}}
		pods := []*corev1.Pod{workerPod("mpi-worker-1", "1"), workerPod("mpi-worker-0", "0")}
		if works {
			spec["mpiReplicaSpecs"].(map[string]any)["Launcher"] = map[string]any{"template": template("8")}
			pods = []*corev1.Pod{workerPod("mpi-worker-1", "2"), workerPod("mpi-worker-0", "1"), podOf(labels("launcher", "0"), nil)}
		}
		key := KeyOf(pods[0])
		for _, pod := range pods {
			if KeyOf(pod) != key || key.Kind != MPIJob {
				t.Errorf("of %+v", KeyOf(pod))
			}
		}
		layout, err := owners(cluster{object: spec}, kind).Layout(context.Background(), key, pods)
		if err != nil || layout.Size != len(pods) || layout.Left != "" {
			t.Fatalf("%+v %v", layout, err)
		}
		for i, pod := range pods {
			if at, found := position(pod, key, layout); !found || at != len(pods)-1-i {
				t.Errorf("launcher works %t: pod %d is number %d", works, i, at)
			}
		}
	}
}

// Owners of which nothing is known: left to the scheduler, with what would help.
func TestOwnersThatAreNotKnown(t *testing.T) {
	yes := true
	owned := func(kind string, labels, annotations map[string]string) *corev1.Pod {
		pod := podOf(labels, annotations)
		pod.OwnerReferences = []metav1.OwnerReference{{Kind: kind, UID: "u", Controller: &yes}}
		return pod
	}
	for name, one := range map[string]struct {
		pod  *corev1.Pod
		left string
	}{
		"a kind that is not known":    {owned("Workflow", nil, nil), "a Workflow"},
		"Kubeflow's others":           {owned("TFJob", map[string]string{trainingJob: "t"}, nil), "a TFJob"},
		"a DaemonSet":                 {owned("DaemonSet", nil, nil), "on which node"},
		"a StatefulSet":               {owned("StatefulSet", nil, nil), ""},
		"a pod that says that it is":  {owned("Workflow", nil, map[string]string{names.Alone: "true"}), ""},
		"a group by annotation":       {owned("Workflow", nil, map[string]string{names.Group: "g", names.GroupSize: "1"}), ""},
		"a kind that is not served":   {podOf(map[string]string{jobSetName: "s"}, nil), "the API server has no such kind"},
		"its number is said, however": {podOf(map[string]string{jobSetName: "s"}, map[string]string{names.GroupSize: "1"}), ""},
	} {
		layout, err := owners(cluster{}).Layout(context.Background(), KeyOf(one.pod), []*corev1.Pod{one.pod})
		if err != nil || (one.left == "") != (layout.Left == "") || !strings.Contains(layout.Left, one.left) {
			t.Errorf("%s: %q %v", name, layout.Left, err)
		}
	}
}
