package api

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"

	"ironhold/allocator"
	"ironhold/web/problem"
)

// readBody reads the request's body as one JSON object with the given fields. Faults by field are
// returned as a list, so that the caller can add those of the domain; what is no JSON is a problem.
// With optional, an empty body is an empty object.
func readBody(r *http.Request, optional bool, fields ...field) ([]allocator.Fault, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
			return nil, err
		}
		return nil, problem.Unreadable("the body could not be read to its end")
	}
	if optional && len(bytes.TrimSpace(body)) == 0 {
		return nil, nil
	}
	if message := checkContentType(r); message != "" {
		return nil, problem.New(problem.UnsupportedMediaType, message)
	}
	v, err := parse(body)
	if e, ok := errors.AsType[*errTooComplex](err); ok {
		return []allocator.Fault{{Field: "body", Message: e.what}}, nil
	}
	if err != nil {
		return nil, problem.Unreadable(err.Error())
	}
	return readObject(v, fields), nil
}

// checkContentType accepts JSON and, since a body that claims nothing is parsed strictly anyway, no
// type at all.
func checkContentType(r *http.Request) string {
	const want = "the header Content-Type must be application/json"
	given := r.Header.Values("Content-Type")
	if len(given) == 0 {
		return ""
	}
	t, params, err := mime.ParseMediaType(given[0])
	if err != nil || len(given) > 1 || t != "application/json" {
		return want
	}
	if c, ok := params["charset"]; ok && !strings.EqualFold(c, "utf-8") && !strings.EqualFold(c, "utf8") {
		return want + ", in UTF-8"
	}
	return ""
}

// readExactly is readBody for requests whose faults are complete with the decoding.
func readExactly(r *http.Request, optional bool, fields ...field) error {
	faults, err := readBody(r, optional, fields...)
	if err != nil {
		return err
	}
	if faults = append(faults, strayQuery(r)...); len(faults) > 0 {
		return problem.Faulty(faults...)
	}
	return nil
}
