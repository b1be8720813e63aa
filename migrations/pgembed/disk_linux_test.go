package pgembed

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// smallDisk mounts a file system of its own, or answers "" where that is not allowed.
func smallDisk(t *testing.T, size string) string {
	t.Helper()
	dir := openDir(t)
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+size+",mode=755"); err != nil {
		t.Logf("no small disk can be mounted here (%v): only the error's form is tested, in TestFullDiskIsNamed", err)
		return ""
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// fill writes until nothing fits any more.
func fill(t *testing.T, dir string) (empty func()) {
	t.Helper()
	path := filepath.Join(dir, "ballast")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for size := 1 << 20; size >= 512; {
		if _, err := f.Write(make([]byte, size)); err != nil {
			size /= 2
		}
	}
	return func() {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
}

func TestNewDataOnAFullDisk(t *testing.T) {
	t.Parallel()
	disk := smallDisk(t, "30m")
	if disk == "" {
		return
	}
	var full *DiskFullError
	opts := fast(filepath.Join(disk, "data"))
	if _, err := Start(context.Background(), opts); !errors.As(err, &full) {
		t.Fatalf("err = %v", err)
	}
	// The same with the check beforehand passed: initdb itself runs into the end.
	l, err := resolve(t.Context(), opts.Dir, opts.log())
	if err != nil {
		t.Fatal(err)
	}
	bin, err := binariesFor(l.acct, l.home, 0)
	if err != nil {
		t.Fatal(err)
	}
	out, err := l.run(t.Context(), filepath.Join(bin.Dir, "initdb"), "-D", filepath.Join(l.home, "run", "x"), "-U", Owner)
	if err = l.blame("initdb", string(out), err); !errors.As(err, &full) {
		t.Fatalf("err = %v", err)
	}
	if err := syscall.Mount("tmpfs", disk, "tmpfs", syscall.MS_REMOUNT, "size=300m,mode=755"); err != nil {
		t.Fatal(err)
	}
	start(t, opts)
}

func TestDiskFillsWhileRunning(t *testing.T) {
	t.Parallel()
	for name, grow := range map[string]string{
		// A table that cannot grow is one statement's error.
		"table": `create table if not exists big (t text); insert into big select repeat(md5(i::text), 100) from generate_series(1, 20000) i`,
		// A log that cannot grow ends the server, which then cannot recover either.
		"log": `select count(pg_logical_emit_message(false, 'x', repeat('x', 100000))) from generate_series(1, 500)`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			disk := smallDisk(t, "300m")
			if disk == "" {
				return
			}
			fillWhileRunning(t, disk, grow)
		})
	}
}

func fillWhileRunning(t *testing.T, disk, grow string) {
	t.Helper()
	opts := fast(filepath.Join(disk, "data"))
	opts.Volatile = false
	opts.Settings["max_wal_size"] = "64MB"
	s := start(t, opts)
	exec1(t, s, `create table kept as select 5 as n`)
	empty := fill(t, disk)

	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var failure error
	for failure == nil {
		conn, err := pgx.Connect(ctx, s.OwnerURL())
		if err != nil {
			failure = err
			break
		}
		_, failure = conn.Exec(ctx, grow)
		_ = conn.Close(ctx)
	}
	if ctx.Err() != nil {
		t.Fatal("the disk never filled")
	}
	t.Logf("a full disk answers: %v", failure)
	time.Sleep(2 * time.Second) // on a full disk, restarts fail
	empty()
	eventually(t, "work after room was made", func() bool {
		conn, err := pgx.Connect(t.Context(), s.OwnerURL())
		if err != nil {
			return false
		}
		defer conn.Close(t.Context())
		_, err = conn.Exec(t.Context(), `insert into kept select 6`)
		return err == nil
	})
	if n := query1[int](t, s, `select sum(n)::int from kept`); n != 11 {
		t.Fatalf("sum = %d", n)
	}
}

func TestStartOnAFullDisk(t *testing.T) {
	t.Parallel()
	disk := smallDisk(t, "300m")
	if disk == "" {
		return
	}
	opts := fast(filepath.Join(disk, "data"))
	opts.Volatile = false
	s := start(t, opts)
	exec1(t, s, `create table kept as select 5 as n`)
	exec1(t, s, `checkpoint`)
	// Killed, so that the next start must recover and write.
	exec1(t, s, `insert into kept select i from generate_series(1, 100000) i`)
	stopCtx, cancel := context.WithCancel(context.Background())
	cancel() // no patience
	if err := s.Stop(stopCtx); err != nil {
		t.Fatal(err)
	}
	empty := fill(t, disk)
	var full *DiskFullError
	_, err := Start(context.Background(), opts)
	if !errors.As(err, &full) {
		t.Fatalf("err = %v", err)
	}
	t.Log(err)
	empty()
	s = start(t, opts)
	if n := query1[int](t, s, `select count(*)::int from kept`); n != 100001 {
		t.Fatalf("%d rows", n)
	}
}
