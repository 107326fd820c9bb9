package group

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"railweave.dev/kubernetes/names"
)

func podOf(labels, annotations map[string]string) *corev1.Pod {
	limits := corev1.ResourceList{names.DefaultGpuResource: resource.MustParse("8")}
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "pod-x", UID: "uid-of-the-pod", Labels: labels, Annotations: annotations},
		Spec: corev1.PodSpec{SchedulingGates: []corev1.PodSchedulingGate{{Name: names.Gate}},
			Containers: []corev1.Container{{Name: "train", Resources: corev1.ResourceRequirements{Limits: limits}}}}}
}

func TestKeysOfKinds(t *testing.T) {
	jobset := map[string]string{jobSetName: "llm", jobSetUID: "u1", jobSetReplica: "workers", jobSetJobIndex: "2", jobIndexLabel: "1", jobNameLabel: "llm-workers-2"}
	group := "g"
	native := podOf(nil, nil)
	native.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{PodGroupName: &group}
	controlled := podOf(map[string]string{trainingJob: "tune"}, nil)
	yes := true
	controlled.OwnerReferences = []metav1.OwnerReference{{Kind: "PyTorchJob", UID: types.UID("u2"), Controller: &yes}}
	for name, one := range map[string]struct {
		pod  *corev1.Pod
		want Key
	}{
		"a JobSet, whose pods have labels of their Job, too": {podOf(jobset, nil), Key{"team", JobSet, "llm", "u1"}},
		"an annotation goes before the owner":                {podOf(jobset, map[string]string{names.Group: "mine"}), Key{"team", Annotated, "mine", ""}},
		"LeaderWorkerSet, of one replica":                    {podOf(map[string]string{lwsName: "serve", lwsGroup: "3"}, nil), Key{"team", LeaderWorker, "serve.3", ""}},
		"PyTorchJob":                                         {controlled, Key{"team", PyTorchJob, "tune", "u2"}},
		"RayCluster":                                         {podOf(map[string]string{rayCluster: "ray"}, nil), Key{"team", RayCluster, "ray", ""}},
		"Job":                                                {podOf(map[string]string{jobNameLabel: "j", jobUIDLabel: "u3"}, nil), Key{"team", IndexedJob, "j", "u3"}},
		"Kubernetes' groups":                                 {native, Key{"team", PodGroup, "g", ""}},
		"coscheduling":                                       {podOf(map[string]string{coschedulingPod: "pg"}, nil), Key{"team", PodGroup, "pg", ""}},
		"a pod of its own":                                   {podOf(nil, nil), Key{"team", SinglePod, "pod-x", "uid-of-the-pod"}},
	} {
		if got := KeyOf(one.pod); got != one.want {
			t.Errorf("%s: %+v instead of %+v", name, got, one.want)
		}
	}
	free := podOf(jobset, nil)
	free.Spec.SchedulingGates = nil
	if got := KeyOf(free); got.Kind != SinglePod {
		t.Errorf("a pod that never was gated is of %+v", got)
	}
}

func TestJobNamesDiffer(t *testing.T) {
	long := make([]byte, 300)
	for i := range long {
		long[i] = 'a'
	}
	seen := map[string]bool{}
	for _, key := range []Key{{"n", IndexedJob, "a", "u1"}, {"n", IndexedJob, "a", "u2"}, {"n", JobSet, "a", "u1"}, {"n", Annotated, string(long), ""},
		{"n", Annotated, string(long) + "b", ""}} {
		name := key.JobName("c")
		if len(name) > 253 || seen[name] {
			t.Errorf("%q of %d characters is too long, or not new", name, len(name))
		}
		seen[name] = true
	}
}

// Positions: each pod where its owner says, others in the order in which they came, and a failed one gives its place to its successor.
func TestPositions(t *testing.T) {
	layout := Layout{Size: 5, Replicas: map[string]Slice{"workers": {First: 0, PerJob: 2}, "evals": {First: 4, PerJob: 1}}}
	of := func(replica, job, index string) *corev1.Pod {
		pod := podOf(map[string]string{jobSetName: "llm", jobSetReplica: replica, jobSetJobIndex: job, jobIndexLabel: index}, nil)
		pod.Name = replica + job + index
		return pod
	}
	pods := []*corev1.Pod{of("evals", "0", "0"), of("workers", "1", "1"), of("workers", "0", "0"), of("workers", "1", "0"), of("workers", "0", "1")}
	taken := Positions(pods, Key{Kind: JobSet}, layout)
	for at, name := range []string{"workers00", "workers01", "workers10", "workers11", "evals00"} {
		if taken[at] == nil || taken[at].Name != name {
			t.Errorf("position %d has %v instead of %s", at, taken[at], name)
		}
	}
	failed, again := of("workers", "0", "0"), of("workers", "0", "0")
	failed.Name, failed.Status.Phase = "failed", corev1.PodFailed
	again.Name, again.CreationTimestamp = "again", metav1.Now()
	if taken = Positions([]*corev1.Pod{failed, again}, Key{Kind: JobSet}, layout); taken[0].Name != "again" {
		t.Errorf("a failed pod keeps its place: %v", taken[0].Name)
	}
	loose := []*corev1.Pod{podOf(nil, nil), podOf(nil, nil), podOf(nil, map[string]string{names.PodIndex: "1"})}
	for i, name := range []string{"b", "a", "c"} {
		loose[i].Name = name
	}
	taken = Positions(loose, Key{Kind: Annotated}, Layout{Size: 3})
	if len(taken) != 3 || taken[0].Name != "a" || taken[1].Name != "c" || taken[2].Name != "b" {
		t.Errorf("loose pods are at %v", taken)
	}
}

func TestFilled(t *testing.T) {
	for text, want := range map[string]int{"": 24, "tp=8": 3, "tp=8 dp=3": 3, "tp=4,pp=2": 3, "tp=8;pp=3": 1} {
		read, err := factors(text)
		if err != nil {
			t.Fatal(err)
		}
		filled, err := Demand{Gpus: 8, Parallelism: read}.Filled(3)
		if err != nil || filled.Data != want || filled.Product() != 24 {
			t.Errorf("%q: %+v %v, want dp=%d", text, filled, err, want)
		}
	}
	for _, text := range []string{"tp=5", "tp=8 dp=2", "tp=16 pp=2"} {
		read, _ := factors(text)
		if _, err := (Demand{Gpus: 8, Parallelism: read}).Filled(3); err == nil {
			t.Errorf("%q is taken for 24 GPUs", text)
		}
	}
}
