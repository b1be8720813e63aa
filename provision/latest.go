package provision

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// Latest returns for each of the services what is or was done last to its machine: the installation, and
// after its end the wipe. It sees what belongs to org, or with the zero value everything.
func (s *Store) Latest(ctx context.Context, org uuid.UUID, services []uuid.UUID) (map[uuid.UUID]Progress, error) {
	latest := make(map[uuid.UUID]Progress, len(services))
	if len(services) == 0 {
		return latest, nil
	}
	err := s.read(ctx, org, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `
select distinct on (service_id) service_id, kind, state, attempt, step, percent, created_at, started_at, finished_at
  from provisionings where service_id = any($1) and ($2::uuid is null or org_id = $2) order by service_id, kind = 'wipe' desc`, services, null(org))
		if err != nil {
			return err
		}
		list, err := pgx.CollectRows(rows, pgx.RowToStructByName[Progress])
		for _, p := range list {
			latest[p.Service] = p
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("provisionings of services: %w", err)
	}
	return latest, nil
}
