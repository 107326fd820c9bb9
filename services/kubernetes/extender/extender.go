// Package extender answers kube-scheduler where pods cannot be gated: it lets a pod go to the node that it was told, and to no
// other. Nothing is asked of Railweave meanwhile, so a cycle of the scheduler waits for no one.
package extender

import (
	"encoding/json"
	"net/http"

	corev1 "k8s.io/api/core/v1"

	"railweave.dev/kubernetes/group"
	"railweave.dev/kubernetes/names"
)

const mostRequest = 64 << 20

// Arguments are what the scheduler sends (k8s.io/kube-scheduler/extender/v1).
type Arguments struct {
	Pod       *corev1.Pod
	Nodes     *corev1.NodeList
	NodeNames *[]string
}

// Filtered is where the pod may run.
type Filtered struct {
	Nodes                      *corev1.NodeList  `json:",omitempty"`
	NodeNames                  *[]string         `json:",omitempty"`
	FailedAndUnresolvableNodes map[string]string `json:",omitempty"`
	Error                      string            `json:",omitempty"`
}

// Priority is a node's score, from 0 to 10.
type Priority struct {
	Host  string
	Score int64
}

func (a *Arguments) names() []string {
	if a.NodeNames != nil {
		return *a.NodeNames
	}
	var nodes []string
	if a.Nodes != nil {
		for i := range a.Nodes.Items {
			nodes = append(nodes, a.Nodes.Items[i].Name)
		}
	}
	return nodes
}

// Filter keeps the node that the pod was told; none where its group waits, with the reason; and all for pods of others.
func Filter(asked *Arguments) *Filtered {
	kept, failed := []string{}, map[string]string{}
	for _, node := range asked.names() {
		if why := refused(asked.Pod, node); why != "" {
			failed[node] = why
		} else {
			kept = append(kept, node)
		}
	}
	answer := &Filtered{FailedAndUnresolvableNodes: failed}
	if asked.NodeNames != nil {
		answer.NodeNames = &kept
		return answer
	}
	answer.Nodes = &corev1.NodeList{Items: []corev1.Node{}}
	for i := range asked.Nodes.Items {
		if failed[asked.Nodes.Items[i].Name] == "" {
			answer.Nodes.Items = append(answer.Nodes.Items, asked.Nodes.Items[i])
		}
	}
	return answer
}

func refused(pod *corev1.Pod, node string) string {
	if !group.Extended(pod) || pod.Annotations[names.Lifted] != "" || pod.Annotations[names.Left] != "" {
		return ""
	}
	told := pod.Annotations[names.Node]
	switch {
	case told == node:
		return ""
	case told != "":
		return "railweave: its ranks are on node " + told
	}
	for _, one := range pod.Status.Conditions {
		if one.Type == names.PlacedCondition && one.Message != "" {
			return "railweave: " + one.Message
		}
	}
	return "railweave: its group is not placed yet"
}

// Prioritize prefers the node that the pod was told.
func Prioritize(asked *Arguments) []Priority {
	scores := []Priority{}
	for _, node := range asked.names() {
		one := Priority{Host: node}
		if asked.Pod.Annotations[names.Node] == node {
			one.Score = 10
		}
		scores = append(scores, one)
	}
	return scores
}

// Register puts both under /v1/kubernetes.
func Register(mux *http.ServeMux) {
	mux.HandleFunc("POST /v1/kubernetes/filter", func(answer http.ResponseWriter, request *http.Request) {
		reply(answer, request, func(asked *Arguments) any { return Filter(asked) })
	})
	mux.HandleFunc("POST /v1/kubernetes/prioritize", func(answer http.ResponseWriter, request *http.Request) {
		reply(answer, request, func(asked *Arguments) any { return Prioritize(asked) })
	})
}

func reply(answer http.ResponseWriter, request *http.Request, work func(*Arguments) any) {
	asked := &Arguments{}
	if err := json.NewDecoder(http.MaxBytesReader(answer, request.Body, mostRequest)).Decode(asked); err != nil {
		http.Error(answer, "the body is no ExtenderArgs: "+err.Error(), http.StatusBadRequest)
		return
	}
	if asked.Pod == nil || asked.Nodes == nil && asked.NodeNames == nil {
		http.Error(answer, "the body names no pod, or no nodes", http.StatusBadRequest)
		return
	}
	answer.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(answer).Encode(work(asked))
}
