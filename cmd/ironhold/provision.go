package main

import (
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"

	"ironhold/holds"
	"ironhold/migrations"
	"ironhold/provision"
	"ironhold/provision/simulated"
)

const (
	simulatedDriver = "simulated"
	// simulatedStep is how long a step of a trial takes; it is looked at more often.
	simulatedStep = 3 * time.Second
	simulatedPoll = time.Second
)

// works are the steps of provisioning for this process's jobs.
func (p *process) works(db *pgxpool.Pool, book *holds.Book) (*provision.Works, error) {
	o := provision.Options{Driver: p.settings.ProvisionDriver, OnChange: p.live.Touch, Logger: p.log}
	set, err := p.settings.Provisioner.drivers(p.settings.BaseURL)
	if err != nil {
		return nil, err
	}
	o.Drivers = set
	if p.settings.ProvisionDriver == simulatedDriver {
		o.Drivers, o.Poll = append(set, simulated.New(simulatedStep)), simulatedPoll
	}
	return provision.NewWorks(db, book, o)
}

// inserter makes jobs in the transactions of steps on db; it works none.
func inserter(db *pgxpool.Pool) (holds.OnService, error) {
	client, err := river.NewClient(riverpgxv5.New(db), &river.Config{Schema: migrations.RiverSchema})
	if err != nil {
		return nil, fmt.Errorf("jobs: %w", err)
	}
	return provision.Inserter(client), nil
}
