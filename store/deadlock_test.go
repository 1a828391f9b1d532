package store_test

import (
	"sync"
	"testing"

	"scimesh.dev/scimesh/store"
	"scimesh.dev/scimesh/store/storetest"
)

// Four coordinators complete tasks of one job at the same time, and never wait
// for each other until the server ends one of them.
func TestCoordinatorsThatCompleteTasksOfOneJobDoNotDeadlock(t *testing.T) {
	const tasks, workers = 600, 4
	url := storetest.NewDatabase(t)
	stores := []*store.Store{storetest.Open(t, url), storetest.Open(t, url), storetest.Open(t, url), storetest.Open(t, url)}
	storetest.MakeRunningJob(t, stores[0], "shared", tasks)
	var all sync.WaitGroup
	for i, s := range stores {
		for range workers {
			w := storetest.MakeWorker(t, s, "w")
			all.Go(func() {
				for {
					task, ok, err := s.ClaimTask(t.Context(), store.ClaimParams{Worker: w.ID, Capabilities: w.Capabilities})
					if err != nil {
						t.Errorf("coordinator %d: %v", i, err)
					}
					if !ok {
						return
					}
					storetest.Complete(t, s, task, task.Task.String())
				}
			})
		}
	}
	all.Wait()
	for _, s := range stores {
		s.Close() // a connection that ends reports what it has counted
	}
	var deadlocks int64
	err := storetest.Conn(t, url).QueryRow(t.Context(),
		`SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()`).Scan(&deadlocks)
	if err != nil {
		t.Fatal(err)
	}
	if deadlocks > 0 {
		t.Errorf("%d deadlocks", deadlocks)
	}
}
