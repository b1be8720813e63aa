package notify

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"ironhold/migrations/pg"
	"ironhold/notify/sign"
)

const (
	// relayEvery is how long a message waits for the relay at most.
	relayEvery = time.Second
	// relayBatch bounds one transaction of the relay.
	relayBatch = 200
	// maxQueued is how many first attempts of one endpoint wait in the queue.
	maxQueued = 50
	// relayLock lets one relay work at a time, so that sequence numbers follow what happened.
	relayLock = 727_003_020
)

// Relay makes jobs of what triggers wrote. Every process with workers runs one; they take turns.
type Relay struct {
	db     pg.DB
	client *river.Client[pgx.Tx]
	source string
	mail   *Mailer
	log    *slog.Logger
}

// NewRelay makes it. Source names this portal in messages: its address, such as https://portal.example.
// Mail may be nil.
func NewRelay(db pg.DB, client *river.Client[pgx.Tx], source string, mail *Mailer, log *slog.Logger) *Relay {
	if source == "" {
		source = "ironhold" // a CloudEvent needs one
	}
	return &Relay{db: db, client: client, source: source, mail: mail, log: log}
}

// Run relays until ctx ends.
func (r *Relay) Run(ctx context.Context) {
	tick := time.NewTicker(relayEvery)
	defer tick.Stop()
	quiet := false
	for {
		more := true
		for more && ctx.Err() == nil {
			n, err := r.Once(ctx)
			if more = err == nil && n >= relayBatch; err != nil && ctx.Err() == nil && !(quiet && pg.Away(err)) {
				quiet = pg.Away(err) // say once that the database is away
				r.log.WarnContext(ctx, "relay", "error", err.Error())
			}
			if err == nil {
				quiet = false
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// Once relays what is there, at most a batch, and returns how much it was.
func (r *Relay) Once(ctx context.Context) (n int, err error) {
	err = pg.Engine(ctx, r.db, pg.By{Actor: "relay"}, func(tx pgx.Tx) error {
		var alone bool
		if err := tx.QueryRow(ctx, "select pg_try_advisory_xact_lock($1)", relayLock).Scan(&alone); err != nil || !alone {
			return err
		}
		if n, err = r.messages(ctx, tx); err != nil {
			return fmt.Errorf("messages: %w", err)
		}
		sent, err := r.deliveries(ctx, tx)
		if err != nil {
			return fmt.Errorf("deliveries: %w", err)
		}
		mails, err := r.mail.relay(ctx, tx, r.client)
		if err != nil {
			return fmt.Errorf("mails: %w", err)
		}
		n = max(n, sent, mails)
		return nil
	})
	return n, err
}

// message is what happened, with what does not change of its subject.
type message struct {
	ID         uuid.UUID       `db:"id"`
	Kind       string          `db:"kind"`
	Event      string          `db:"event"`
	SubjectID  uuid.UUID       `db:"subject_id"`
	At         time.Time       `db:"at"`
	Facts      json.RawMessage `db:"facts"`
	Org        string          `db:"org"`
	AssetTag   *string         `db:"asset_tag"`
	Site       *string         `db:"site"`
	HoldID     *uuid.UUID      `db:"hold_id"` // of a service
	Begun      *time.Time      `db:"begun"`
	PriceMinor *int64          `db:"price_month_minor"`
	SetupMinor *int64          `db:"setup_minor"`
	Currency   *string         `db:"currency"`
}

// messages gives numbers and bodies to what is new, and makes the deliveries.
func (r *Relay) messages(ctx context.Context, tx pgx.Tx) (int, error) {
	rows, err := tx.Query(ctx, `
select n.id, n.kind, n.event, n.subject_id, n.at, n.facts, o.slug as org, m.asset_tag, m.site_code as site, s.hold_id,
       coalesce(h.created_at, s.started_at) as begun, coalesce(h.price_month_minor, s.price_month_minor) as price_month_minor,
       coalesce(h.setup_minor, s.setup_minor) as setup_minor, coalesce(h.currency, s.currency) as currency
  from (select * from webhook_messages where relayed_at is null order by at, id limit $1) n
  join organisations o on o.id = n.org_id
  left join holds h on n.kind = 'hold' and h.id = n.subject_id
  left join services s on n.kind = 'service' and s.id = n.subject_id
  left join machines m on m.id = coalesce(h.machine_id, s.machine_id)
 order by n.at, n.id`, relayBatch)
	if err != nil {
		return 0, err
	}
	list, err := pgx.CollectRows(rows, pgx.RowToStructByName[message])
	if err != nil {
		return 0, err
	}
	for _, m := range list {
		if err := r.message(ctx, tx, m); err != nil {
			return 0, fmt.Errorf("%s: %w", m.ID, err)
		}
	}
	return len(list), nil
}

func (r *Relay) message(ctx context.Context, tx pgx.Tx, m message) error {
	var sequence *int64
	if m.Kind != "test" {
		err := tx.QueryRow(ctx, `insert into webhook_sequences (subject_id, last) values ($1, 1)
			on conflict (subject_id) do update set last = webhook_sequences.last + 1 returning last`, m.SubjectID).Scan(&sequence)
		if err != nil {
			return err
		}
	}
	body, err := m.body(r.source, sequence)
	if err != nil {
		return err
	}
	b := &pgx.Batch{}
	b.Queue("update webhook_messages set sequence = $2, body = $3, relayed_at = clock_timestamp() where id = $1", m.ID, sequence, body)
	b.Queue(`insert into webhook_deliveries (org_id, message_id, endpoint_id)
select m.org_id, m.id, e.id from webhook_messages m join webhook_endpoints e on e.org_id = m.org_id
 where m.id = $1 and e.disabled_at is null and e.removed_at is null and e.created_at <= m.at
   and case m.kind when 'hold' then e.holds when 'service' then e.services else e.id = m.endpoint_id end`, m.ID)
	return pg.Pipeline(ctx, tx, b)
}

// body is the message as it is sent.
func (m message) body(source string, sequence *int64) ([]byte, error) {
	e := sign.Event{ID: m.ID.String(), Source: source, Type: "ironhold.test", Time: m.At}
	data := map[string]any{"org": m.Org}
	if sequence != nil {
		e.Type = "ironhold." + m.Kind + "." + m.Event
		e.Sequence, e.Subject = *sequence, m.Kind+"s/"+m.SubjectID.String()
		data["sequence"] = *sequence
		subject := map[string]any{}
		if err := json.Unmarshal(m.Facts, &subject); err != nil {
			return nil, err
		}
		subject["id"] = m.SubjectID
		subject["machine"] = map[string]any{"asset_tag": m.AssetTag, "site": m.Site}
		subject["price_month"] = map[string]any{"amount_minor": m.PriceMinor, "currency": m.Currency}
		subject["setup"] = map[string]any{"amount_minor": m.SetupMinor, "currency": m.Currency}
		if m.Begun != nil {
			*m.Begun = m.Begun.UTC() // as all times in it
		}
		if m.Kind == "service" {
			subject["hold"], subject["started_at"] = m.HoldID, m.Begun
			delete(subject, "hold_id")
		} else {
			subject["created_at"] = m.Begun
		}
		data[m.Kind] = subject
	}
	var err error
	if e.Data, err = json.Marshal(data); err != nil {
		return nil, err
	}
	return e.Body()
}

// deliveries makes jobs of those that wait: of no endpoint more than may queue for their first attempt,
// so that what one receiver piles up does not lie before the next one's.
func (r *Relay) deliveries(ctx context.Context, tx pgx.Tx) (int, error) {
	rows, err := tx.Query(ctx, `
update webhook_deliveries set state = 'queued'
 where state = 'waiting' and id in (
   select w.id
     from (select distinct endpoint_id from webhook_deliveries where state = 'waiting') e
    cross join lateral (
      select count(*) as n from (select from webhook_deliveries q where q.endpoint_id = e.endpoint_id and q.state = 'queued' and q.next_at is null limit $2) q) queued
    cross join lateral (
      select d.id from webhook_deliveries d where d.endpoint_id = e.endpoint_id and d.state = 'waiting' order by d.id limit $2 - queued.n) w
    limit $1)
returning id, endpoint_id, round`, relayBatch, maxQueued)
	if err != nil {
		return 0, err
	}
	list, err := pgx.CollectRows(rows, pgx.RowToStructByPos[DeliverArgs])
	if err != nil || len(list) == 0 {
		return 0, err
	}
	jobs := make([]river.InsertManyParams, len(list))
	for i, args := range list {
		jobs[i] = river.InsertManyParams{Args: args}
	}
	_, err = r.client.InsertManyTx(ctx, tx, jobs)
	return len(list), err
}
