package fleet

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"ironhold/migrations/pg"
)

const (
	// MaxUpload bounds an uploaded file, in bytes; larger ones go by the command.
	MaxUpload = 16 << 20
	// UploadLife is how long a file waits for its confirmation.
	UploadLife = 15 * time.Minute
	// uploadsKept bounds the files of one person that wait at once; the oldest go.
	uploadsKept = 3
)

// Upload is a file that was looked at and not taken in yet.
type Upload struct {
	ID      uuid.UUID `db:"id"`
	At      time.Time `db:"at"`
	Name    string    `db:"name"`
	Hash    string    `db:"-"` // SHA-256 of the content, in hex
	Content []byte    `db:"content"`
}

// UploadGone says that a file is not there any more, or was another's.
type UploadGone struct{}

func (*UploadGone) Error() string { return "the uploaded file is not kept any more: upload it again" }

// KeepUpload keeps a file for UploadLife, for whoever uploaded it.
func (r *Registry) KeepUpload(ctx context.Context, by pg.By, name string, content []byte) (id uuid.UUID, err error) {
	sum := sha256.Sum256(content)
	err = pg.Engine(ctx, r.db, by, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, dropUploads, UploadLife); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `delete from import_uploads where id in (
			select id from import_uploads where actor = ironhold_actor() order by at desc, id desc offset $1)`, uploadsKept-1)
		if err != nil {
			return err
		}
		return tx.QueryRow(ctx, "insert into import_uploads (name, hash, content) values ($1, $2, $3) returning id", name, sum[:], content).Scan(&id)
	})
	if err != nil {
		return id, fmt.Errorf("keep an upload: %w", err)
	}
	return id, nil
}

// Upload returns a file to whoever uploaded it, or *UploadGone.
func (r *Registry) Upload(ctx context.Context, by pg.By, id uuid.UUID) (u Upload, err error) {
	err = pg.Engine(ctx, r.db, by, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `select id, at, name, content from import_uploads
			where id = $1 and actor = ironhold_actor() and at > clock_timestamp() - $2::interval`, id, UploadLife)
		if err != nil {
			return err
		}
		u, err = pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[Upload])
		return err
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return u, &UploadGone{}
	}
	if err != nil {
		return u, fmt.Errorf("upload: %w", err)
	}
	sum := sha256.Sum256(u.Content)
	u.Hash = hex.EncodeToString(sum[:])
	return u, nil
}

// DropUpload forgets a file that was taken in.
func (r *Registry) DropUpload(ctx context.Context, by pg.By, id uuid.UUID) error {
	return pg.Engine(ctx, r.db, by, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, "delete from import_uploads where id = $1 and actor = ironhold_actor()", id)
		return err
	})
}

const dropUploads = "delete from import_uploads where at <= clock_timestamp() - $1::interval"

// DropOldUploads forgets the files that nobody confirmed in time, and returns how many.
func (r *Registry) DropOldUploads(ctx context.Context) (n int, err error) {
	err = pg.Engine(ctx, r.db, pg.By{Actor: "uploads"}, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, dropUploads, UploadLife)
		n = int(tag.RowsAffected())
		return err
	})
	return n, err
}
