package api

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
)

// etagOf is the tag of a document. It is weak: a hold's tag leaves out what a clock changes.
func etagOf(body []byte) string {
	sum := sha256.Sum256(body)
	return `W/"` + base64.RawURLEncoding.EncodeToString(sum[:12]) + `"`
}

// writeTagged answers a read of one object with its ETag, or 304 when the caller has it. same is the
// document without what changes by the clock alone.
func writeTagged(w http.ResponseWriter, r *http.Request, v, same any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	of, err := json.Marshal(same)
	if err != nil {
		return err
	}
	return send(w, r, http.StatusOK, append(body, '\n'), etagOf(of))
}

// send answers with a finished JSON document and its tag.
func send(w http.ResponseWriter, r *http.Request, status int, body []byte, tag string) error {
	h := w.Header()
	h.Set("ETag", tag)
	// Kept by the caller alone, and asked about each time.
	h.Set("Cache-Control", "private, no-cache")
	h.Set("Vary", "Authorization")
	if matches(r.Header.Values("If-None-Match"), tag) {
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body)
	return nil
}

// matches compares weakly, as RFC 9110 has it for If-None-Match. Our tags hold no comma.
func matches(headers []string, tag string) bool {
	for _, header := range headers {
		for one := range strings.SplitSeq(header, ",") {
			one = strings.TrimSpace(one)
			if one == "*" || strings.TrimPrefix(one, "W/") == strings.TrimPrefix(tag, "W/") {
				return true
			}
		}
	}
	return false
}
