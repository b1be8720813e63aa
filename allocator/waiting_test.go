package allocator_test

import (
	"errors"
	"fmt"
	"testing"

	"ironhold/allocator"
	"ironhold/migrations/pg"
	"ironhold/migrations/pgtest/fixture"
)

func TestWaitingListTellsFirstComeFirst(t *testing.T) {
	t.Parallel()
	b := setup(t, 4, allocator.Options{})
	orgs := fixture.Orgs(t, b.owner, "org", 3)
	fixture.Equal(t, b.owner, "m", 2)
	by := pg.By{Actor: "test"}
	for i := range 2 {
		b.order(orgs[0], fmt.Sprint("k", i), allocator.Request{})
	}
	want := allocator.Request{MinRAMGB: 64}
	for _, org := range orgs[1:] {
		for range 2 { // asking twice is one entry
			if _, faults, err := b.alloc.Wait(t.Context(), by, org, want, nil); err != nil || faults != nil {
				t.Fatal(faults, err)
			}
		}
	}
	match := func(told int) {
		t.Helper()
		if n, err := b.alloc.MatchWaiting(t.Context()); err != nil || n != told {
			t.Fatalf("told %d, %v, want %d", n, err, told)
		}
	}
	match(0)
	fixture.Exec(t, b.owner, "update holds set state = 'cancelled' where id = (select id from holds limit 1)")
	match(1)
	match(0) // one machine is told to one of them
	first, err := b.alloc.WaitingList(t.Context(), orgs[1], 10)
	if err != nil || len(first) != 1 || first[0].State != "told" || first[0].AssetTag == nil {
		t.Fatalf("the first in line: %+v, %v", first, err)
	}
	second, err := b.alloc.WaitingList(t.Context(), orgs[2], 10)
	if err != nil || len(second) != 1 || second[0].State != "waiting" {
		t.Fatalf("the second in line: %+v, %v", second, err)
	}
	var missing *allocator.NotFound
	if err := b.alloc.StopWaiting(t.Context(), by, orgs[1], second[0].ID); !errors.As(err, &missing) {
		t.Fatalf("another organisation's entry: %v", err)
	}
	if err := b.alloc.StopWaiting(t.Context(), by, orgs[2], second[0].ID); err != nil {
		t.Fatal(err)
	}
	fixture.Exec(t, b.owner, "update holds set state = 'cancelled' where state = 'held'")
	match(0)
}

func TestWaitingListIsBounded(t *testing.T) {
	t.Parallel()
	b := setup(t, 4, allocator.Options{})
	org := fixture.Org(t, b.owner, "acme", 5, 50)
	var full *allocator.WaitingFull
	for i := range 21 {
		_, _, err := b.alloc.Wait(t.Context(), pg.By{Actor: "test"}, org, allocator.Request{MinCores: i + 1}, nil)
		if i < 20 && err != nil || i == 20 && !errors.As(err, &full) {
			t.Fatalf("entry %d: %v", i, err)
		}
	}
	if _, faults, _ := b.alloc.Wait(t.Context(), pg.By{}, org, allocator.Request{Sites: []string{"nowhere"}}, nil); len(faults) != 1 {
		t.Fatalf("faults: %v", faults)
	}
}
