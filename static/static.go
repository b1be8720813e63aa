// Package static serves the style sheet, the script and the pictures.
//
//	file -> SHA-256 of its content -> /static/<hash>/<name>, kept by browsers for ever
//
// A path with another hash is not found, so that an old page never gets a new file or the other way
// round. The files are part of the binary. During development the environment variable
// IRONHOLD_STATIC names a folder that is read at each request instead, with the hash "dev".
package static

import (
	"crypto/sha256"
	"crypto/sha512"
	"embed"
	"encoding/base64"
	"encoding/hex"
	"io/fs"
	"mime"
	"net/http"
	"os"
	"path"
	"strings"
)

//go:embed files
var embedded embed.FS

// Prefix is where Handler is mounted.
const Prefix = "/static/"

type asset struct {
	hash, integrity, kind string
	content               []byte
}

// assets are the embedded files by name; nil while a folder is read instead.
var assets, folder = load()

func load() (map[string]asset, fs.FS) {
	if dir := os.Getenv("IRONHOLD_STATIC"); dir != "" {
		return nil, os.DirFS(dir)
	}
	all := map[string]asset{}
	err := fs.WalkDir(embedded, "files", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := embedded.ReadFile(p)
		if err != nil {
			return err
		}
		all[strings.TrimPrefix(p, "files/")] = describe(p, content)
		return nil
	})
	if err != nil {
		panic("static files: " + err.Error()) // they are part of the binary
	}
	return all, nil
}

func describe(name string, content []byte) asset {
	sum, sri := sha256.Sum256(content), sha512.Sum384(content)
	return asset{
		hash:      hex.EncodeToString(sum[:6]),
		integrity: "sha384-" + base64.StdEncoding.EncodeToString(sri[:]),
		kind:      kind(name),
		content:   content,
	}
}

// kind does not ask the machine's own tables, which differ.
func kind(name string) string {
	switch path.Ext(name) {
	case ".css":
		return "text/css; charset=utf-8"
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".svg":
		return "image/svg+xml"
	}
	if t := mime.TypeByExtension(path.Ext(name)); t != "" {
		return t
	}
	return "application/octet-stream"
}

// Path is the address of a file. A name that does not exist panics: it is written in a template.
func Path(name string) string {
	if folder != nil {
		return Prefix + "dev/" + name
	}
	a, ok := assets[name]
	if !ok {
		panic("no static file " + name)
	}
	return Prefix + a.hash + "/" + name
}

// Integrity is the value of an integrity attribute for the file.
func Integrity(name string) string {
	if folder != nil {
		content, err := fs.ReadFile(folder, name)
		if err != nil {
			return ""
		}
		return describe(name, content).integrity
	}
	return assets[name].integrity
}

// Handler serves the files under Prefix and answers whether it had the one asked for: a request
// that it could not serve is left untouched, for the caller's page.
func Handler(w http.ResponseWriter, r *http.Request) bool {
	hash, name, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, Prefix), "/")
	if folder != nil {
		content, err := fs.ReadFile(folder, name)
		if err != nil {
			return false
		}
		serve(w, r, describe(name, content), "no-store")
		return true
	}
	a, ok := assets[name]
	if !ok || a.hash != hash {
		return false
	}
	serve(w, r, a, "public, max-age=31536000, immutable")
	return true
}

func serve(w http.ResponseWriter, r *http.Request, a asset, cache string) {
	h := w.Header()
	h.Set("Content-Type", a.kind)
	h.Set("Cache-Control", cache)
	h.Set("ETag", `"`+a.hash+`"`)
	if r.Header.Get("If-None-Match") == `"`+a.hash+`"` {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	_, _ = w.Write(a.content)
}
