package pgcluster_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"scimesh.dev/scimesh/store/pgcluster"
)

// ownerDir names the folder of the cluster that this program, run again by a
// test, starts and keeps until it is killed.
const ownerDir = "PGCLUSTER_TEST_OWNER_DIR"

// endsWithOwner, if not empty, has that cluster end with its owner.
const endsWithOwner = "PGCLUSTER_TEST_ENDS_WITH_OWNER"

func TestMain(m *testing.M) {
	dir := os.Getenv(ownerDir)
	if dir == "" {
		os.Exit(m.Run())
	}
	c, err := pgcluster.Start(context.Background(), pgcluster.Options{Dir: dir, Unsafe: true, EndWithOwner: os.Getenv(endsWithOwner) != ""})
	if err != nil {
		fmt.Fprintln(os.Stdout, err)
		os.Exit(1)
	}
	fmt.Fprintln(os.Stdout, c.PID())
	<-c.Done()
}

// killedOwner returns the number of a server whose owner, another process, was killed.
func killedOwner(t *testing.T, dir string, env ...string) int {
	t.Helper()
	owner := exec.Command(os.Args[0])
	owner.Env = append(append(os.Environ(), ownerDir+"="+dir), env...)
	out, err := owner.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := owner.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	if err := owner.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := owner.Wait(); err == nil {
		t.Fatal("the owner ended by itself")
	}
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatalf("the owner said %q", line)
	}
	return pid
}

func requirePostgres(t *testing.T) {
	t.Helper()
	if _, err := pgcluster.Find(t.Context()); err != nil && os.Getenv("CI") == "" {
		t.Skip(err)
	}
}

func TestServerOfKilledOwnerIsAdopted(t *testing.T) {
	t.Parallel()
	requirePostgres(t)
	dir := tempDir(t)
	pid := killedOwner(t, dir)
	c := start(t, pgcluster.Options{Dir: dir, Unsafe: true})
	if c.PID() != pid {
		t.Errorf("server is process %d, want the adopted %d", c.PID(), pid)
	}
	checkAnswers(t, c)
	if err := c.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if c.Running() {
		t.Error("still running after Stop")
	}
}

func TestServerEndsWithItsOwner(t *testing.T) {
	t.Parallel()
	requirePostgres(t)
	if runtime.GOOS != "linux" {
		t.Skip("only Linux tells a process of its parent's death")
	}
	dir := tempDir(t)
	pid := killedOwner(t, dir, endsWithOwner+"=1")
	for deadline := time.Now().Add(30 * time.Second); syscall.Kill(pid, 0) == nil; {
		if time.Now().After(deadline) {
			t.Fatalf("the server, process %d, outlives its owner", pid)
		}
		<-time.After(20 * time.Millisecond)
	}
	checkAnswers(t, start(t, pgcluster.Options{Dir: dir, Unsafe: true}))
}

func TestServerWithOtherSettingsIsReplaced(t *testing.T) {
	t.Parallel()
	requirePostgres(t)
	dir := tempDir(t)
	pid := killedOwner(t, dir)
	c := start(t, pgcluster.Options{Dir: dir})
	if c.PID() == pid {
		t.Error("the server that runs with other settings was adopted")
	}
	if diff := cmp.Diff([]string{"on"}, query(t, c, "SHOW fsync")); diff != "" {
		t.Errorf("fsync (-want +got):\n%s", diff)
	}
}

func checkAnswers(t *testing.T, c *pgcluster.Cluster) {
	t.Helper()
	if diff := cmp.Diff([]string{"1"}, query(t, c, "SELECT '1'")); diff != "" {
		t.Errorf("SELECT (-want +got):\n%s", diff)
	}
}

// kill kills the server and waits until its end is noticed.
func kill(t *testing.T, c *pgcluster.Cluster) {
	t.Helper()
	if err := syscall.Kill(c.PID(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	select {
	case <-c.Done():
	case <-time.After(10 * time.Second):
		t.Fatal("Done was not closed within 10 s of the server's death")
	}
}

func TestKilledServerStartsAgain(t *testing.T) {
	t.Parallel()
	opts := pgcluster.Options{Dir: tempDir(t)}
	c := start(t, opts)
	execSQL(t, c, "CREATE TABLE kept (t text)")
	for i := range 3 {
		execSQL(t, c, "INSERT INTO kept VALUES ('"+strconv.Itoa(i)+"')")
		computed := compute(t, c)
		kill(t, c)
		if err := <-computed; err == nil {
			t.Error("the query of the killed server has returned")
		}
		if c.Running() {
			t.Error("Running after the server's death")
		}
		c = start(t, opts)
	}
	if diff := cmp.Diff([]string{"0", "1", "2"}, query(t, c, "SELECT t FROM kept ORDER BY t")); diff != "" {
		t.Errorf("committed rows (-want +got):\n%s", diff)
	}
}

// compute has a session compute until it is killed: such a backend does not
// notice by itself that its server has died. It returns when the session is at work.
func compute(t *testing.T, c *pgcluster.Cluster) <-chan error {
	t.Helper()
	session := connect(t, c)
	ended := make(chan error, 1)
	go func() {
		_, err := session.Exec(context.Background(), "SELECT count(*) FROM generate_series(1, 1000000000)")
		ended <- err
	}()
	watcher := connect(t, c)
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); {
		var busy bool
		err := watcher.QueryRow(t.Context(), `SELECT EXISTS (
			SELECT FROM pg_stat_activity
			WHERE  state = 'active'
			AND    query LIKE '%generate_series%'
			AND    pid <> pg_backend_pid())`).Scan(&busy)
		if err != nil {
			t.Fatal(err)
		}
		if busy {
			return ended
		}
	}
	t.Fatal("no session computes")
	return nil
}

func TestNumberOfDeadServerMayBelongToAnotherProcess(t *testing.T) {
	t.Parallel()
	opts := pgcluster.Options{Dir: tempDir(t), Unsafe: true}
	c := start(t, opts)
	kill(t, c)

	other := exec.Command("sleep", "600")
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := other.Process.Kill(); err != nil {
			t.Error("the other process was harmed:", err)
		}
		other.Wait() //nolint:errcheck // it was killed
	}()
	path := filepath.Join(opts.Dir, "data", "postmaster.pid")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "\n")
	if err := os.WriteFile(path, []byte(strconv.Itoa(other.Process.Pid)+"\n"+rest), 0o600); err != nil {
		t.Fatal(err)
	}
	checkAnswers(t, start(t, opts))
}

func TestBrokenOffStartLeavesNoServer(t *testing.T) {
	t.Parallel()
	opts := pgcluster.Options{Dir: tempDir(t), Unsafe: true}
	c := start(t, opts)
	if err := c.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, after := range []time.Duration{time.Millisecond, 10 * time.Millisecond, 30 * time.Millisecond} {
		ctx, cancel := context.WithTimeout(t.Context(), after)
		c, err := pgcluster.Start(ctx, opts)
		cancel()
		if err == nil { // a quick machine
			if err := c.Stop(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := os.Stat(filepath.Join(opts.Dir, "data", "postmaster.pid")); err == nil {
			t.Errorf("a server is left after a start that ended in %v", after)
		}
	}
	checkAnswers(t, start(t, opts))
}
