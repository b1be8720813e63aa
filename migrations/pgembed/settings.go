//go:build unix

package pgembed

import (
	"maps"
	"strings"
)

// settings are handed over on the command line, so that they are always those of
// this program, whatever the data folder was made with. Sized for two cores and a
// machine that does other things too.
func (s *Server) settings() map[string]string {
	set := map[string]string{
		"listen_addresses":        "",
		"unix_socket_directories": `"` + strings.ReplaceAll(s.layout.sockDir, `"`, `""`) + `"`, // a list: quoted for the sake of commas
		"unix_socket_permissions": "0700",
		"port":                    "5432",
		"max_connections":         "200",
		"shared_buffers":          "256MB",
		"max_wal_size":            "2GB",
		"checkpoint_timeout":      "15min",
		"wal_compression":         "on",
		"random_page_cost":        "1.1",
		"jit":                     "off", // compiling costs more than short statements take
		"autovacuum_naptime":      "15s",
		"timezone":                "UTC",
		"log_timezone":            "UTC",
		"log_lock_waits":          "on",
		"log_min_messages":        "log", // lost races are errors to PostgreSQL and daily bread to us; deadlocks are still logged
		"log_checkpoints":         "off",
		"log_line_prefix":         "%m [%p] %q%u@%d/%a ",
		"lc_messages":             "C",
	}
	if s.options.Volatile {
		set["fsync"] = "off"
		set["synchronous_commit"] = "off"
		set["full_page_writes"] = "off"
	}
	maps.Copy(set, s.options.Settings)
	return set
}
