package placement

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"

	"railweave.dev/kubernetes/contract"
	"railweave.dev/kubernetes/group"
)

// mostAttempts bounds how often pods of one group are asked for that were ended by others, or could not begin.
const mostAttempts = 16

const mostUnknown = 10_000

// Held is a group's job as it was last read.
type Held struct {
	Job    contract.Job
	Chunks []Chunk
}

// Adopted says that the job says where pods are.
func (h *Held) Adopted() bool {
	return h.Job.Spec.External != nil && h.Job.Spec.External.ID == AdoptedMark
}

type entry struct {
	held    Held
	newest  int64 // sequence number of the newest event of it
	covered int64 // of the newest event that what is held includes
	chunks  int   // GPUs of a pod that the chunks were made for
	moved   int64 // of the newest event that may have moved ranks
	ranked  int64 // of the newest event that the chunks include
}

func (e *entry) stale() bool { return e.newest > e.covered }

// current says that the chunks are still where the job's ranks are.
func (e *entry) current(gpus int) bool { return e.chunks == gpus && e.moved <= e.ranked }

// stays are events of a job after which its ranks are where they were.
var stays = map[string]bool{"job.accepted": true, "job.running": true, "job.checkpointed": true,
	"job.moveOffered": true, "job.moveAccepted": true, "job.moveEnded": true,
	"job.stepsReported": true, "job.slow": true, "job.onPace": true}

// Book is Railweave's jobs of this cluster that wait or hold GPUs, kept up to date by the stream of events.
type Book struct {
	Client  *contract.Client
	Cluster string
	Log     logr.Logger
	Changed func(name string)          // a group's job has changed
	All     func()                     // anything may have changed
	Event   func(event contract.Event) // of any kind

	mutex     sync.Mutex
	byName    map[string]*entry
	nameOf    map[string]string
	ready     bool
	since     time.Time // when it became ready
	awaySince time.Time
	unknown   map[string]int64 // job -> newest event of it that came before the job itself was known
}

// Start follows the service for as long as the context lives; it runs on the leader only.
func (b *Book) Start(ctx context.Context) error {
	pause := 200 * time.Millisecond
	for ctx.Err() == nil {
		err := b.Client.Follow(ctx, func() error {
			if err := b.read(ctx); err != nil {
				return err
			}
			pause = 200 * time.Millisecond
			b.Log.Info("reached Railweave")
			b.All()
			return nil
		}, b.seen)
		if ctx.Err() != nil {
			break
		}
		b.lose(err)
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
		pause = min(2*pause, 5*time.Second)
	}
	return nil
}

func (b *Book) lose(err error) {
	b.mutex.Lock()
	first := b.awaySince.IsZero()
	if first {
		b.awaySince = time.Now()
	}
	b.ready = false
	b.mutex.Unlock()
	if first {
		b.Log.Info("Railweave is away", "error", err.Error())
		b.All()
	}
}

// read reads all jobs again. Those that wait are read twice, because one may come to wait, or be placed, between two lists.
func (b *Book) read(ctx context.Context) error {
	byName, nameOf := map[string]*entry{}, map[string]string{}
	for _, state := range []string{"queued", "placed", "queued"} {
		jobs, err := b.Client.Jobs(ctx, state)
		if err != nil {
			return err
		}
		for _, job := range jobs {
			if strings.HasPrefix(job.Name, group.Prefix(b.Cluster)) {
				byName[job.Name] = &entry{held: Held{Job: job}, newest: 1} // lists do not have all of it
				nameOf[job.ID] = job.Name
			}
		}
	}
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.byName, b.nameOf, b.ready, b.awaySince, b.unknown = byName, nameOf, true, time.Time{}, map[string]int64{}
	b.since = time.Now()
	return nil
}

func (b *Book) seen(event contract.Event) {
	if b.Event != nil {
		b.Event(event)
	}
	if event.Subject.Kind != "job" {
		return
	}
	b.mutex.Lock()
	name, known := b.nameOf[event.Subject.ID]
	if known && b.byName[name] != nil {
		b.byName[name].newest = event.Seq
		if !stays[event.Type] {
			b.byName[name].moved = event.Seq
		}
	} else if b.unknown != nil {
		if len(b.unknown) > mostUnknown {
			clear(b.unknown)
		}
		b.unknown[event.Subject.ID] = event.Seq
	}
	b.mutex.Unlock()
	if known {
		b.Changed(name)
	}
}

// Away is for how long the service has not been reached; zero where it is.
func (b *Book) Away() time.Duration {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if b.awaySince.IsZero() {
		return 0
	}
	return time.Since(b.awaySince)
}

// ErrAway is the answer while the service cannot be asked, ErrChanged where the job was changed while it was read.
var (
	//lint:ignore ST1005 it begins with a name
	ErrAway    error = &contract.Unreached{Cause: errors.New("Railweave cannot be reached")}
	ErrChanged       = errors.New("the job was changed while it was read")
)

// Reached is when the jobs were last read as a whole.
func (b *Book) Reached() time.Time {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.since
}

// Has says that there is a job of that name.
func (b *Book) Has(name string) bool {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.byName[name] != nil
}

// Names is the names of all jobs that are held.
func (b *Book) Names() []string {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	var names []string
	for name := range b.byName {
		names = append(names, name)
	}
	return names
}

// Held is the job of that name, nil where there is none; `gpus` are those of one pod, 0 where no pod is left to be placed.
func (b *Book) Held(ctx context.Context, name string, gpus int) (*Held, error) {
	b.mutex.Lock()
	if !b.ready {
		b.mutex.Unlock()
		return nil, ErrAway
	}
	one := b.byName[name]
	if one == nil {
		b.mutex.Unlock()
		return nil, nil
	}
	held, stale, newest, moved, current := one.held, one.stale(), one.newest, one.moved, one.current(gpus)
	b.mutex.Unlock()
	if !stale && (held.Job.State != "placed" || current || gpus == 0) {
		return &held, nil
	}
	err := b.refresh(ctx, &held, stale, current, gpus)
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if b.byName[name] != one {
		return nil, ErrChanged
	}
	if err != nil {
		return nil, err
	}
	if stale {
		one.covered = max(newest, held.Job.Version)
	}
	if held.Job.State != "placed" && held.Job.State != "queued" {
		b.forget(name)
		return nil, nil
	}
	if !current {
		one.ranked = max(moved, held.Job.Version)
	}
	one.held, one.chunks = held, gpus
	if held.Job.State != "placed" {
		one.chunks = 0
	}
	return &held, nil
}

// refresh reads the job where it is stale, and its ranks where the chunks are not current.
func (b *Book) refresh(ctx context.Context, held *Held, stale, current bool, gpus int) error {
	if stale {
		job, err := b.Client.Job(ctx, held.Job.ID)
		if err != nil {
			if contract.CodeOf(err) == "jobs.notFound" {
				held.Job.State = "completed"
				return nil
			}
			return err
		}
		held.Job = *job
	}
	if held.Job.State != "placed" || gpus == 0 {
		held.Chunks = nil
		return nil
	}
	if current && held.Chunks != nil {
		return nil
	}
	if held.Adopted() {
		held.Chunks = nil
		for _, node := range held.Job.NodeList {
			held.Chunks = append(held.Chunks, Chunk{Node: node})
		}
		return nil
	}
	ranks, err := b.Client.Ranks(ctx, held.Job.ID)
	if err != nil {
		return err
	}
	held.Chunks, err = Chunks(ranks, gpus)
	return err
}

func (b *Book) forget(name string) {
	if one := b.byName[name]; one != nil {
		delete(b.nameOf, one.held.Job.ID)
		delete(b.byName, name)
	}
}

// Forget is called when a job was ended.
func (b *Book) Forget(name string) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.forget(name)
}

// Stale has the job read again when it is needed next.
func (b *Book) Stale(name string) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if one := b.byName[name]; one != nil {
		one.covered = one.newest - 1
	}
}

// WhatIf is a request that changes nothing, for the reason why a group waits.
func (b *Book) WhatIf(key group.Key, demand group.Demand, parallelism contract.Parallelism) *contract.JobRequest {
	body := &contract.JobRequest{Name: key.JobName(b.Cluster), Tenant: demand.Tenant, Parallelism: &parallelism, GpusPerNode: demand.Gpus}
	if demand.Level != "" {
		body.Topology = &contract.Topology{Job: &contract.LevelRequest{Required: demand.Level}}
	}
	return body
}

// Put keeps what the service has just answered to what may have moved ranks, and Reported what it answered to what cannot.
func (b *Book) Put(job *contract.Job) { b.put(job, false) }

// Reported is Put() where ranks stay.
func (b *Book) Reported(job *contract.Job) { b.put(job, true) }

func (b *Book) put(job *contract.Job, stay bool) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if b.byName == nil {
		return
	}
	next := &entry{held: Held{Job: *job}, newest: b.unknown[job.ID], covered: job.Version}
	next.moved = next.newest
	if one := b.byName[job.Name]; one != nil && one.held.Job.ID == job.ID {
		if one.held.Job.Version > job.Version {
			return
		}
		next.newest, next.moved = one.newest, one.moved
		if stay {
			next.held.Chunks, next.chunks, next.ranked = one.held.Chunks, one.chunks, one.ranked
		}
	}
	b.byName[job.Name] = next
	b.nameOf[job.ID] = job.Name
}

// Submit asks for a job, once for these pods however often it is called.
func (b *Book) Submit(ctx context.Context, body *contract.JobRequest, uids []string) error {
	for attempt := 0; attempt < mostAttempts; attempt++ {
		job, err := b.Client.Submit(ctx, IdempotencyKey(body.Name, uids, attempt), body)
		switch {
		case err == nil && (job.State == "placed" || job.State == "queued"):
			b.Put(job)
			return nil
		case err == nil: // one of before, which has ended
		case contract.CodeOf(err) == "idempotency.jobEnded" || contract.CodeOf(err) == "idempotency.keyReused":
		default:
			return err
		}
	}
	return fmt.Errorf("it was placed %d times and could not begin; delete its pods to have it tried again", mostAttempts)
}
