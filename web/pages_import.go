package web

import (
	"bytes"
	"context"
	"errors"
	"io"
	"mime/multipart"
	"net/http"
	"path"
	"strings"

	"github.com/google/uuid"

	"ironhold/fleet"
	"ironhold/views"
	"ironhold/views/i18n"
	"ironhold/web/problem"
	"ironhold/web/request"
)

// noticesShown bounds the rows of a report on a page; how many there are is told.
const noticesShown = 100

// importForm is where a file is chosen, or with ?upload= what taking it in would do.
func (s *server) importForm(w http.ResponseWriter, r *http.Request) error {
	ctx := i18n.With(r.Context(), s.locale(r))
	text := r.URL.Query().Get("upload")
	if text == "" {
		return s.importPage(w, r, http.StatusOK, views.ImportPage{})
	}
	id, err := uuid.Parse(text)
	if err != nil {
		return problem.NoSuch()
	}
	u, err := s.Fleet.Upload(ctx, request.By(ctx), id)
	if _, gone := errors.AsType[*fleet.UploadGone](err); gone {
		return s.importPage(w, r, http.StatusGone, views.ImportPage{Faults: s.fileFault(ctx, "import.fault_gone")})
	}
	if err != nil {
		return err
	}
	m, err := s.preview(ctx, u)
	if file, bad := errors.AsType[*fleet.FileError](err); bad {
		return s.importPage(w, r, http.StatusUnprocessableEntity, views.ImportPage{Faults: s.fileFault(ctx, "import.fault_file", "reason", file.Reason)})
	}
	if err != nil {
		return err
	}
	return s.importPage(w, r, http.StatusOK, m)
}

func (s *server) importPage(w http.ResponseWriter, r *http.Request, status int, m views.ImportPage) error {
	m.MaxMB = fleet.MaxUpload >> 20
	if status != http.StatusOK {
		request.From(r.Context()).Problem = string(problem.Invalid)
	}
	return s.renderAt(w, r, status, "/fleet/import", views.Import(m))
}

func (s *server) fileFault(ctx context.Context, key string, args ...any) []views.Fault {
	return []views.Fault{{Field: "file", Label: i18n.T(ctx, "import.file"), Message: i18n.T(ctx, key, args...)}}
}

// preview is the dry run: it says the same as the real one.
func (s *server) preview(ctx context.Context, u fleet.Upload) (m views.ImportPage, err error) {
	report, err := s.Fleet.Import(ctx, request.By(ctx), bytes.NewReader(u.Content), fleet.ImportOptions{DryRun: true})
	if err != nil {
		return m, err
	}
	m = views.ImportPage{Upload: u.ID.String(), Hash: u.Hash, Name: u.Name, Until: u.At.Add(fleet.UploadLife), Report: reportOf(report)}
	return m, nil
}

func reportOf(r fleet.Report) *views.ImportReport {
	out := &views.ImportReport{Added: r.Added, Changed: r.Changed, Unchanged: r.Unchanged, Refused: len(r.Refused), Warned: len(r.Warnings)}
	for _, n := range r.Refused[:min(len(r.Refused), noticesShown)] {
		out.Refusals = append(out.Refusals, views.ImportNotice{Line: n.Line, Reason: n.Reason})
	}
	for _, n := range r.Warnings[:min(len(r.Warnings), noticesShown)] {
		out.Warnings = append(out.Warnings, views.ImportNotice{Line: n.Line, Reason: n.Reason})
	}
	return out
}

// uploadRoom is what a form needs beside its file.
const uploadRoom = 64 << 10

// upload keeps a file and leads to what it would do.
func (s *server) upload(w http.ResponseWriter, r *http.Request) error {
	ctx := i18n.With(r.Context(), s.locale(r))
	name, content, err := uploadedFile(r)
	if _, large := errors.AsType[*http.MaxBytesError](err); large || len(content) > fleet.MaxUpload {
		return s.importPage(w, r, http.StatusRequestEntityTooLarge, views.ImportPage{Faults: s.fileFault(ctx, "import.fault_large", "n", fleet.MaxUpload>>20)})
	}
	if err != nil {
		return problem.Unreadable("The form cannot be read.")
	}
	if len(content) == 0 {
		return s.importPage(w, r, http.StatusUnprocessableEntity, views.ImportPage{Faults: s.fileFault(ctx, "import.fault_none")})
	}
	id, err := s.Fleet.KeepUpload(ctx, request.By(ctx), name, content)
	if err != nil {
		return err
	}
	return seeOther(w, r, "/fleet/import?upload="+id.String())
}

// uploadedFile reads the file of the form as a stream; nothing is written to this machine.
func uploadedFile(r *http.Request) (name string, content []byte, err error) {
	parts, err := r.MultipartReader()
	if err != nil {
		return "", nil, err
	}
	for {
		var part *multipart.Part
		if part, err = parts.NextPart(); errors.Is(err, io.EOF) {
			return "", nil, nil
		} else if err != nil {
			return "", nil, err
		}
		if part.FormName() != "file" {
			continue
		}
		name = clip(path.Base(strings.ReplaceAll(part.FileName(), `\`, "/")))
		content, err = io.ReadAll(io.LimitReader(part, fleet.MaxUpload+1))
		return name, content, err
	}
}

// confirmImport takes in the file that was looked at: the one with this hash, or none.
func (s *server) confirmImport(w http.ResponseWriter, r *http.Request) error {
	f, err := form(r)
	if err != nil {
		return err
	}
	ctx := i18n.With(r.Context(), s.locale(r))
	id, err := uuid.Parse(f.Get("upload"))
	if err != nil {
		return problem.NoSuch()
	}
	u, err := s.Fleet.Upload(ctx, request.By(ctx), id)
	if _, gone := errors.AsType[*fleet.UploadGone](err); gone || err == nil && u.Hash != f.Get("hash") {
		return s.importPage(w, r, http.StatusGone, views.ImportPage{Faults: s.fileFault(ctx, "import.fault_gone")})
	}
	if err != nil {
		return err
	}
	report, err := s.Fleet.Import(ctx, request.By(ctx), bytes.NewReader(u.Content), fleet.ImportOptions{})
	if err != nil {
		return err // the batches before it stay; the file is there for another try
	}
	if err := s.Fleet.DropUpload(ctx, request.By(ctx), id); err != nil {
		return err
	}
	return s.renderAt(w, r, http.StatusOK, "/fleet/import", views.Import(views.ImportPage{Name: u.Name, Done: true, Report: reportOf(report), MaxMB: fleet.MaxUpload >> 20}))
}
