package web

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/google/uuid"

	"ironhold/accounts"
	"ironhold/holds"
	"ironhold/views/i18n"
	"ironhold/web/live"
	"ironhold/web/problem"
	"ironhold/web/request"
)

const (
	// streamsEach and streamsAll bound the streams of one session and of the process.
	streamsEach = 6
	streamsAll  = 2000
	// streamLife is when a stream ends although nothing is wrong; the browser opens it again.
	streamLife = 30 * time.Minute
	// streamPace is the least time between two looks for one page.
	streamPace = time.Second
	// streamBeat keeps the connection open through proxies.
	streamBeat = 15 * time.Second
	// streamCheck is how soon a stream ends after its session, when nothing else happens.
	streamCheck = 25 * time.Second
)

// streams counts who listens.
type streams struct {
	mu   sync.Mutex
	all  int
	each map[string]int // by session token
}

func (st *streams) enter(token string) (leave func(), ok bool) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.each == nil {
		st.each = map[string]int{}
	}
	if st.all >= streamsAll || st.each[token] >= streamsEach {
		return nil, false
	}
	st.all++
	st.each[token]++
	return func() {
		st.mu.Lock()
		defer st.mu.Unlock()
		st.all--
		if st.each[token]--; st.each[token] == 0 {
			delete(st.each, token)
		}
	}, true
}

// events is the stream of an open page:
//
//	live, notlive  whether changes are told at once or only every few seconds
//	stock          something has changed; what, the page asks for as ever
//	hold           the hold of ?hold=, at the beginning and when it has changed
//	end            nobody is signed in any more
//
// The session is asked for anew at each change and every half minute, so that a stream outlives
// neither it nor the person's rights.
func (s *server) events(w http.ResponseWriter, r *http.Request) error {
	if s.Live == nil {
		w.WriteHeader(http.StatusNoContent) // which tells a browser not to try again
		return nil
	}
	v := &viewer{s: s, token: s.pages.sessions.Token(r.Context()), actor: request.Actor(r.Context())}
	if text := r.URL.Query().Get("hold"); text != "" {
		if !accounts.Can(v.actor.Role, accounts.SeeHolds) {
			return forbidden()
		}
		id, err := uuid.Parse(text)
		if err != nil || id.String() != text {
			return problem.NoSuch()
		}
		v.hold = id
		if _, err := v.readHold(r.Context()); err != nil {
			return err
		}
	}
	leave, ok := s.pages.streams.enter(v.token)
	if !ok {
		p := problem.New(problem.TooManyRequests, "More pages listen than one session may open.")
		p.RetryAfter = 30 * time.Second
		return p
	}
	defer leave()
	changes, cancel := s.Live.Subscribe()
	defer cancel()
	out, err := live.Open(w)
	request.From(r.Context()).Answered()
	if err != nil || r.Method == http.MethodHead {
		return nil //nolint:nilerr // the page has gone
	}
	v.out = out
	v.follow(r.Context(), changes)
	return nil
}

// viewer is one open page.
type viewer struct {
	s     *server
	out   *live.Stream
	token string
	actor accounts.Actor
	hold  uuid.UUID // zero for none
	told  string    // how the hold was told last
	live  string    // "live" or "notlive", as told last
}

// errEnded ends a stream that has no viewer any more.
type errEnded struct{}

func (errEnded) Error() string { return "the stream has ended" }

// follow writes until the page, the session or the server ends.
func (v *viewer) follow(ctx context.Context, changes <-chan struct{}) {
	life, beat, check := time.NewTimer(streamLife), time.NewTicker(streamBeat), time.NewTicker(streamCheck)
	defer life.Stop()
	defer beat.Stop()
	defer check.Stop()
	open, paced := changes, (<-chan time.Time)(nil)
	err := v.look(ctx, false)
	for err == nil {
		select {
		case <-ctx.Done():
			return
		case <-v.s.Live.Done():
			return
		case <-life.C:
			return
		case <-beat.C:
			err = v.out.Beat()
		case <-check.C:
			err = v.look(ctx, false)
		case <-open:
			err = v.look(ctx, true)
			open, paced = nil, time.After(streamPace) // further changes are one
		case <-paced:
			open, paced = changes, nil
		}
	}
}

// look asks whether the person may still look, and tells what is new.
func (v *viewer) look(ctx context.Context, changed bool) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	state := "notlive"
	switch err := v.stillThere(ctx); {
	case errors.As(err, new(errEnded)):
		return errors.Join(v.out.Send("end", "session"), err)
	case err != nil: // the database is away: nothing is told, least of all that all is well
		changed = false
	case v.s.Live.Live():
		state = "live"
	}
	if state != v.live {
		if err := v.out.Send(state, "{}"); err != nil {
			return err
		}
		v.live = state
	}
	if changed {
		if err := v.out.Send("stock", "{}"); err != nil {
			return err
		}
	}
	return v.tellHold(ctx)
}

// stillThere asks for the session as it is now, and for the person.
func (v *viewer) stillThere(ctx context.Context) error {
	fresh, err := v.s.pages.sessions.Load(withoutSession(ctx), v.token)
	if err != nil {
		return err
	}
	actor, ok, err := v.s.currentActor(fresh)
	if err != nil {
		return err
	}
	if !ok || actor.ID != v.actor.ID {
		return errEnded{}
	}
	v.actor = actor
	return nil
}

func (v *viewer) readHold(ctx context.Context) (holds.Hold, error) {
	scope, err := scopeOf(v.actor)
	if err != nil {
		return holds.Hold{}, err
	}
	return v.s.Holds.Get(ctx, scope, v.hold)
}

// tellHold tells the hold when it is not as it was told last. One that may not be seen any more
// ends the stream; a database that is away does not.
func (v *viewer) tellHold(ctx context.Context) error {
	if v.hold == uuid.Nil {
		return nil
	}
	h, err := v.readHold(ctx)
	if err != nil {
		if problem.From(err).Name == problem.NotFound {
			return errEnded{}
		}
		return nil //nolint:nilerr // the next look may find it
	}
	now := holdNews(h)
	seen := now
	seen.Now = ""
	key, err := json.Marshal(seen)
	if err != nil || string(key) == v.told {
		return err
	}
	data, err := json.Marshal(now)
	if err != nil {
		return err
	}
	v.told = string(key)
	return v.out.Send("hold", string(data))
}

// holdState is what a page with a hold is told: how it stands, by which clock.
type holdState struct {
	State     string `json:"state"`
	Deadline  string `json:"deadline"`
	Withdrawn bool   `json:"withdrawn"`
	Now       string `json:"now"`
}

func holdNews(h holds.Hold) holdState {
	return holdState{State: string(h.Shown()), Deadline: i18n.ISO(h.ExpiresAt), Withdrawn: h.Withdrawn(), Now: i18n.ISO(h.Now)}
}
