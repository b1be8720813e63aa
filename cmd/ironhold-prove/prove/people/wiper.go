package people

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"time"

	"ironhold/cmd/ironhold-prove/prove/record"
)

// Wiper is the operator who wipes machines whose service has ended, so that they are sold again.
type Wiper struct {
	Town  *Town
	Phase string
	Token string
}

// Round wipes what is to be wiped now.
func (w *Wiper) Round(ctx context.Context, process int) {
	e := &record.Entry{Phase: w.Phase, Actor: -1, Op: record.Look, Process: w.Town.Names[process]}
	raw := w.Town.Client.Do(ctx, Call{Base: w.Town.Bases[process], Method: http.MethodGet, Path: "/api/v1/machines?status=cleaning&limit=200",
		Token: w.Token, Patience: 12 * time.Second}, e)
	var list struct {
		Items []struct {
			Tag string `json:"asset_tag"`
		} `json:"items"`
	}
	if e.Status != http.StatusOK || json.Unmarshal(raw, &list) != nil {
		return
	}
	for _, m := range list.Items {
		if ctx.Err() != nil {
			return
		}
		e := &record.Entry{Phase: w.Phase, Actor: -1, Op: record.Wipe, Process: w.Town.Names[process], Target: m.Tag}
		w.Town.Client.Do(ctx, Call{Base: w.Town.Bases[process], Method: http.MethodPost, Path: "/api/v1/machines/" + url.PathEscape(m.Tag) + "/wiped",
			Token: w.Token, Body: map[string]any{"reason": "The service has ended."}, Patience: 12 * time.Second}, e)
	}
}
