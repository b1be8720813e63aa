package allocator

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// EligibleMachines as a reason selects the machines without any.
const EligibleMachines Reason = "eligible"

const (
	surveyPiece  = 1000
	surveyPieces = 20
)

// Reasons lists the codes in the order in which they are listed everywhere.
func Reasons() []Reason { return slices.Clone(reasonOrder) }

// SurveyBy is SurveyMachines for those machines that a reason excludes, beside others or alone;
// "" for all. It reads the fleet in short pieces and gives up after some of them: next is the tag to
// go on after, "" at the end. So a page may have fewer machines than the limit, and still a next.
func (a *Allocator) SurveyBy(ctx context.Context, org uuid.UUID, r Request, reason Reason, after string, limit int) (list []Surveyed, next string, err error) {
	for range surveyPieces {
		piece := surveyPiece
		if reason == "" {
			piece = limit - len(list) + 1
		}
		found, err := a.SurveyMachines(ctx, org, r, after, piece)
		if err != nil {
			return nil, "", err
		}
		for _, m := range found {
			if reason != "" && !(reason == EligibleMachines && m.Eligible) && !slices.Contains(m.Reasons, reason) {
				after = m.AssetTag
				continue
			}
			if len(list) == limit {
				return list, after, nil
			}
			list, after = append(list, m), m.AssetTag
		}
		if len(found) < piece {
			return list, "", nil
		}
	}
	return list, after, nil
}

// Now is the database's clock, to say as of when something is shown.
func (a *Allocator) Now(ctx context.Context) (now time.Time, err error) {
	err = a.reading(ctx, func(tx pgx.Tx) error { return tx.QueryRow(ctx, "select clock_timestamp()").Scan(&now) })
	return now, err
}
