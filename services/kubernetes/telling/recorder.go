// Package telling writes events that say what is true now.
package telling

import (
	"fmt"
	"hash/fnv"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
)

// Recorder makes an event with another text another event. client-go counts events about one object with one reason and one action as a series,
// which keeps the text of its first for as long as others follow: a reason to wait that has changed would never be read. The action is
// the one part of what it compares that may say which text is meant.
type Recorder struct {
	events.EventRecorder
}

// Eventf is as that of client-go.
func (r Recorder) Eventf(regarding, related runtime.Object, kind, reason, action, note string, args ...any) {
	text := fmt.Sprintf(note, args...)
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(text))
	r.EventRecorder.Eventf(regarding, related, kind, reason, fmt.Sprintf("%s-%08x", action, hash.Sum32()), "%s", text)
}
